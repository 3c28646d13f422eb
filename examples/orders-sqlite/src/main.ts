/** A program with its database in one file: what it enqueued before it ended, it publishes after it starts again. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { composeModules, OutboxDispatcher, OutboxModule, OutboxSchema } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { Order } from './order.js';

const folder = await mkdtemp(join(tmpdir(), 'orders-sqlite-'));
const sent: unknown[] = [];

/** One life of the program. sql.js keeps the database in memory; `autoSave` writes it to the file after each commit. */
async function open() {
  const dataSource = await new DataSource({
    type: 'sqljs',
    location: join(folder, 'orders.sqlite'),
    autoSave: true,
    entities: [Order],
    synchronize: true,
  }).initialize();
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async ({ payload }) => void sent.push(payload) }),
    OutboxTypeormModule.forRoot({ dataSource }),
  ]);
  await app.get(OutboxSchema).ensure();
  return { dataSource, app, store: app.get(TypeormOutboxStore) };
}

const first = await open();
await first.dataSource.transaction(async (em) => {
  await em.insert(Order, { id: 'order-1', total: 20 });
  await first.store.enqueueWith(em, { topic: 'order.placed', payload: { id: 'order-1' } });
});
const declined = first.dataSource.transaction(async (em) => {
  await em.insert(Order, { id: 'order-2', total: 30 });
  await first.store.enqueueWith(em, { topic: 'order.placed', payload: { id: 'order-2' } });
  throw new Error('card declined');
});
await assert.rejects(declined, /card declined/);
await first.dataSource.destroy();
assert.deepEqual(sent, []);

const second = await open();
console.log('after the restart:', await second.store.count());
await second.app.get(OutboxDispatcher).dispatchPending();
const orders = await second.dataSource.getRepository(Order).find();
const counts = await second.store.count();
await second.dataSource.destroy();
await rm(folder, { recursive: true });

assert.deepEqual(
  orders.map(({ id }) => id),
  ['order-1'],
);
assert.deepEqual(sent, [{ id: 'order-1' }]);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The order that was committed was announced by the next start; the declined one never.');
