/** The modules inside an Inversify container: its classes are handed the outbox's parts, and one of them publishes. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { composeModules, OutboxModule, OutboxSchema, OutboxStore, runUntilSignal } from '@postcommit/core';
import { PgOutboxStore, pgStore } from '@postcommit/store-pg';
import { Container } from 'inversify';
import pg from 'pg';
import { Broker } from './broker.js';
import { OrderService } from './order-service.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const container = new Container();
container.bind(pg.Pool).toConstantValue(pool);
container.bind(Broker).toSelf().inSingletonScope();
container.bind(OrderService).toSelf().inSingletonScope();

const app = composeModules([
  // Asks the container when there is something to publish.
  OutboxModule.forRoot({ publisher: (row) => container.get(Broker).send(row) }),
  pgStore(pool),
]);
for (const token of app.tokens) container.bind(token).toDynamicValue(() => app.get(token));

await container.get<OutboxSchema>(OutboxSchema).ensure();
await pool.query('create table if not exists inversify_orders (id text primary key)');
const id = randomUUID();
await container.get(OrderService).place(id);

const sent = once(container.get(Broker).events, id);
await app.start();
const signal = await runUntilSignal(app, { until: sent });

const store = container.get<OutboxStore>(OutboxStore);
const messages = await store.peek({ key: id, state: 'dispatched' }, 10);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.equal(store, container.get(PgOutboxStore), 'one store, by both of its tokens');
assert.equal(messages.length, 1);
console.log(`Inversify hosts ${app.tokens.length} parts of the outbox beside the application's own classes.`);
