/** An order is paid and announced in one Prisma transaction; one that rolls back is not announced. */
import assert from 'node:assert/strict';
import { composeModules, DispatchEvents, OutboxModule, OutboxSchema } from '@postcommit/core';
import { OutboxPrismaModule, PrismaOutboxStore } from '@postcommit/store-prisma';
import { openDatabase } from '@postcommit/tooling/database';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js';

const database = await openDatabase();
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) });
// Yours is made by `prisma migrate`.
await prisma.$executeRaw`create table orders (id text primary key, status text not null)`;
await prisma.order.createMany({ data: ['order-1', 'order-2'].map((id) => ({ id, status: 'new' })) });
const published: unknown[] = [];

// #region guide
const app = composeModules([
  OutboxModule.forRoot({
    publisher: async (row) => {
      console.log(`published ${row.topic} ${JSON.stringify(row.payload)}`);
      published.push(row.payload);
    },
  }),
  OutboxPrismaModule.forRoot({ client: prisma }),
]);
await app.get(OutboxSchema).ensure(); // creates the table, or brings it up to date

async function pay(id: string, isDeclined = false): Promise<void> {
  await prisma.$transaction(async (tx) => {
    await tx.order.update({ where: { id }, data: { status: 'paid' } });
    await app.get(PrismaOutboxStore).enqueueWith(tx, { topic: 'order.paid', key: id, payload: { id } });
    if (isDeclined) throw new Error(`${id}: card declined`);
  });
}
// #endregion

await pay('order-1');
await assert.rejects(pay('order-2', true), /card declined/);

const firstBatch = new Promise((resolve) => app.get(DispatchEvents).on('batch', resolve));
await app.start();
await firstBatch;
await app.stop();

const orders = await prisma.order.findMany({ orderBy: { id: 'asc' } });
const counts = await app.get(PrismaOutboxStore).count();
await prisma.$disconnect();
await database.close();

assert.deepEqual(
  orders.map(({ id, status }) => `${id} ${status}`),
  ['order-1 paid', 'order-2 new'],
);
assert.deepEqual(published, [{ id: 'order-1' }]);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The paid order was announced; the declined one is as it was, and nobody heard of it.');
