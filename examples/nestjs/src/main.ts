/** A Nest application: a request stores an order and its event, and a method of a provider handles it afterwards. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { OutboxSchema, OutboxStore } from '@postcommit/core';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { OrderConfirmation } from './order-confirmation.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const nest = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
// SIGTERM and Ctrl-C close the application: the outbox lets running handlers finish and releases the rest.
nest.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
await nest.get(OutboxSchema).ensure();
const dataSource = nest.get(DataSource);
await dataSource.query('create table if not exists nest_orders (id text primary key, status text not null)');
await nest.listen(0, '127.0.0.1');

const [good, bad] = [randomUUID(), `bad-${randomUUID()}`];
const confirmed = nest.get(OrderConfirmation).confirmed(good);
const answers = [await post(bad), await post(good)];
await confirmed;

const orders: unknown = await dataSource.query('select * from nest_orders where id in ($1, $2)', [good, bad]);
const phantoms = await nest.get(OutboxStore).peek({ key: bad }, 10);
await nest.close();

assert.deepEqual(answers, [409, 201]);
assert.deepEqual(orders, [{ id: good, status: 'confirmed' }]);
assert.deepEqual(phantoms, []);
console.log('The order was confirmed at the second try; the refused one never had an event.');

async function post(id: string): Promise<number> {
  const { status } = await fetch(`${await nest.getUrl()}/orders/${id}`, { method: 'POST' });
  console.log(`POST /orders/${id} ${status}`);
  if (status < 500) return status;
  // The connection to the database was lost: ask again, as any client would.
  await setTimeout(500);
  return post(id);
}
