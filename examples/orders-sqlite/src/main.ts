/** A program with its database in one file: what it enqueued before it ended, it publishes after it starts again. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOutbox } from '@postcommit/core';
import { typeormStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { Order } from './order.js';

const folder = await mkdtemp(join(tmpdir(), 'orders-sqlite-'));
const published = new EventEmitter();

/** One life of the program. sql.js keeps the database in memory; `autoSave` writes it to the file after each commit. */
async function open() {
  const dataSource = new DataSource({
    type: 'sqljs',
    location: join(folder, 'orders.sqlite'),
    autoSave: true,
    entities: [Order],
    synchronize: true,
  });
  await dataSource.initialize();
  const outbox = createOutbox({
    store: typeormStore(dataSource),
    publisher: async ({ topic, key = '', payload }) => {
      console.log('published', topic, payload);
      published.emit(key);
    },
  });
  await outbox.migrate(); // creates or upgrades the outbox tables
  const placeOrder = (id: string, isDeclined: boolean): Promise<void> =>
    dataSource.transaction(async (em) => {
      await em.insert(Order, { id, total: 20 });
      await outbox.enqueueWith(em, { topic: 'order.placed', key: id, payload: { id } });
      if (isDeclined) throw new Error('card declined');
    });
  return { dataSource, outbox, placeOrder };
}

const first = await open();
await first.placeOrder('order-1', false);
await assert.rejects(first.placeOrder('order-2', true), /card declined/);
await first.dataSource.destroy();

const { dataSource, outbox } = await open();
console.log('after the restart:', await outbox.store.count());
const announced = once(published, 'order-1');
await outbox.start();
const signal = await outbox.runUntilSignal({ until: announced });

const orders = await dataSource.getRepository(Order).find();
const counts = await outbox.store.count();
await dataSource.destroy();
await rm(folder, { recursive: true });
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(
  orders.map(({ id }) => id),
  ['order-1'],
);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The order that was committed was announced by the next start; the declined one never.');
