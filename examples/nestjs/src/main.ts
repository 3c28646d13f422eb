/** A Nest application: a request stores an order and its event, and a method of a provider handles it afterwards. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { NestFactory } from '@nestjs/core';
import { OutboxSchema, OutboxStore } from '@postcommit/core';
import { openDatabase } from '@postcommit/tooling/database';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { OrderConfirmation } from './order-confirmation.js';

const database = await openDatabase();
process.env.DATABASE_URL = database.url;
const nest = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
nest.enableShutdownHooks();
await nest.get(OutboxSchema).ensure();
const dataSource = nest.get(DataSource);
await dataSource.query('create table orders (id text primary key, status text not null)');
await nest.listen(0, '127.0.0.1');

const confirmed = nest.get(OrderConfirmation).nextConfirmed();
const refused = await post('bad-order');
const created = await post('order-7');
await confirmed;

const orders: unknown = await dataSource.query('select * from orders');
const { total: events } = await nest.get(OutboxStore).count();
await nest.close();
await database.close();

assert.deepEqual([refused, created], [409, 201]);
assert.deepEqual(orders, [{ id: 'order-7', status: 'confirmed' }]);
assert.equal(events, 1);
console.log('The order was confirmed at the second try; the refused one never had an event.');

async function post(id: string): Promise<number> {
  const { status } = await fetch(`${await nest.getUrl()}/orders/${id}`, { method: 'POST' });
  console.log(`POST /orders/${id} ${status}`);
  return status;
}
