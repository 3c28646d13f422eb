/** Any modules inside a Nest application, without `@postcommit/nestjs`: one provider for each of their tokens. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { composeModules, DispatchEvents, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { hostOutbox } from './host-outbox.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const published: unknown[] = [];

const outbox = composeModules([
  OutboxModule.forRoot({
    publisher: async (row) => {
      console.log(`published ${row.topic} ${JSON.stringify(row.payload)}`);
      published.push(row.payload);
    },
  }),
  OutboxPgModule.forRoot({ pool }),
]);
await outbox.get(OutboxSchema).ensure();

/** Nest hands it the store, as any other provider. */
@Injectable()
class Newsletter {
  constructor(@Inject(OutboxStore) private readonly store: OutboxStore) {}

  async subscribe(email: string): Promise<void> {
    await this.store.enqueue({ topic: 'newsletter.subscribed', payload: { email } });
  }
}

@Module({ imports: [hostOutbox(outbox)], providers: [Newsletter] })
class AppModule {}

// Starts the worker too.
const nest = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
const firstBatch = new Promise((resolve) => nest.get(DispatchEvents).on('batch', resolve));
await nest.get(Newsletter).subscribe('ada@example.com');
await firstBatch;
const isSameStore = nest.get(OutboxStore) === outbox.get(PgOutboxStore);
await nest.close();

const counts = await outbox.get(OutboxStore).count();
await pool.end();
await database.close();

assert.ok(isSameStore, 'one store, in both containers');
assert.deepEqual(published, [{ email: 'ada@example.com' }]);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log(`Nest hosts ${outbox.tokens.length} parts of the outbox, and started and stopped its worker.`);
