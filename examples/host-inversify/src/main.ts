/** The modules inside an Inversify container: its classes are handed the outbox's parts, and give it a publisher. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { composeModules, DispatchEvents, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import { Container, injectable } from 'inversify';
import pg from 'pg';
import { OrderService } from './order-service.js';

/** Also a class of the application; the outbox asks the container for it when there is something to publish. */
@injectable()
class Broker {
  readonly sent: string[] = [];

  async send(topic: string, payload: unknown): Promise<void> {
    console.log(`sent ${topic} ${JSON.stringify(payload)}`);
    this.sent.push(topic);
  }
}

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const container = new Container();
container.bind(pg.Pool).toConstantValue(pool);
container.bind(Broker).toSelf().inSingletonScope();
container.bind(OrderService).toSelf().inSingletonScope();

const app = composeModules([
  OutboxModule.forRoot({ publisher: (row) => container.get(Broker).send(row.topic, row.payload) }),
  OutboxPgModule.forRoot({ pool }),
]);
for (const token of app.tokens) container.bind(token).toDynamicValue(() => app.get(token));

await pool.query('create table orders (id text primary key)');
await container.get<OutboxSchema>(OutboxSchema).ensure();
await container.get(OrderService).place('order-7');

const events = container.get(DispatchEvents);
const firstBatch = new Promise((resolve) => events.on('batch', resolve));
await app.start();
await firstBatch;
await app.stop();

const counts = await container.get<OutboxStore>(OutboxStore).count();
const { sent } = container.get(Broker);
await pool.end();
await database.close();

assert.equal(container.get(OutboxStore), app.get(PgOutboxStore), 'one store, by both of its tokens');
assert.deepEqual(sent, ['order.placed']);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log(`Inversify hosts ${app.tokens.length} parts of the outbox beside the application's own classes.`);
