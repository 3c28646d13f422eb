/** An order is paid and announced in one Prisma transaction; one that rolls back is not announced. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { prismaStore } from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: DATABASE_URL }) });
const published = new EventEmitter();

const outbox = createOutbox({
  store: prismaStore(prisma),
  // Your broker, webhook or mailer. A promise that resolves means delivered.
  publisher: async ({ topic, key = '', payload }) => {
    console.log('published', topic, payload);
    published.emit(key);
  },
});
await outbox.migrate(); // creates or upgrades the outbox tables

// Yours is made by `prisma migrate`.
await prisma.$executeRaw`create table if not exists prisma_orders (id text primary key, status text not null)`;
const [paid, declined] = [randomUUID(), randomUUID()];
await prisma.order.createMany({ data: [paid, declined].map((id) => ({ id, status: 'new' })) });

async function pay(id: string, isDeclined: boolean): Promise<void> {
  await prisma.$transaction(async (tx) => {
    await tx.order.update({ where: { id }, data: { status: 'paid' } });
    await outbox.enqueueWith(tx, { topic: 'order.paid', key: id, payload: { id } });
    if (isDeclined) throw new Error('card declined');
  });
}

await pay(paid, false);
await assert.rejects(pay(declined, true), /card declined/);

const announced = once(published, paid);
await outbox.start();
// Yours runs until SIGTERM or Ctrl-C. This one also ends when its message was published.
const signal = await outbox.runUntilSignal({ until: announced });

const statusOf = async (id: string) => (await prisma.order.findUniqueOrThrow({ where: { id } })).status;
const statuses = [await statusOf(paid), await statusOf(declined)];
const messages = await outbox.store.peek({ state: 'dispatched', key: paid }, 10);
const phantoms = await outbox.store.peek({ key: declined }, 10);
await prisma.$disconnect();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(statuses, ['paid', 'new']);
assert.equal(messages.length, 1);
assert.deepEqual(phantoms, []);
console.log('The paid order was announced; the declined one is as it was, and nobody heard of it.');
