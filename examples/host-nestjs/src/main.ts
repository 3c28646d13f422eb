/** Any modules inside a Nest application, without `@postcommit/nestjs`: one provider for each of their tokens. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { composeModules, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { PgOutboxStore, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { hostOutbox } from './host-outbox.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const published = new EventEmitter();

const outbox = composeModules([
  OutboxModule.forRoot({
    publisher: async ({ id, topic, payload }) => {
      console.log('published', topic, payload);
      published.emit(id);
    },
  }),
  pgStore(pool),
]);
await outbox.get(OutboxSchema).ensure();

/** Nest hands it the store, as any other provider. */
@Injectable()
class Newsletter {
  constructor(@Inject(OutboxStore) private readonly store: OutboxStore) {}

  async subscribe(id: string, email: string): Promise<void> {
    await this.store.enqueue({ id, topic: 'newsletter.subscribed', payload: { email } });
  }
}

@Module({ imports: [hostOutbox(outbox)], providers: [Newsletter] })
class AppModule {}

// Starts the worker too. SIGTERM and Ctrl-C stop it, by the lifecycle that `hostOutbox` adds.
const nest = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
nest.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
const id = randomUUID();
const announced = once(published, id);
await nest.get(Newsletter).subscribe(id, 'ada@example.com');
await announced;
const isSameStore = nest.get(OutboxStore) === outbox.get(PgOutboxStore);
await nest.close();

const messages = await outbox.get(OutboxStore).peek({ id, state: 'dispatched' }, 1);
await pool.end();

assert.ok(isSameStore, 'one store, in both containers');
assert.equal(messages.length, 1);
console.log(`Nest hosts ${outbox.tokens.length} parts of the outbox, and started and stopped its worker.`);
