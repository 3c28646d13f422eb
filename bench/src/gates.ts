import { OutboxDispatcher, type OutboxEntry } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import type { Server } from './place.js';
import { countStatements } from './statement-count.js';
import { BATCH_SIZE, type Place, payload, type Subject } from './subject.js';
import { createOutbox } from './subjects/outbox-table.js';
import { postcommitPg } from './subjects/postcommit-pg.js';
import { postcommitPrisma } from './subjects/postcommit-prisma.js';
import { postcommitTypeorm } from './subjects/postcommit-typeorm.js';

/** A count that must be exact on every machine: how many statements something sends. */
export interface Gate {
  readonly name: string;
  readonly wanted: number;
  readonly found: number;
}

/** BEGIN, the order, COMMIT: what the business sends anyway. */
const BUSINESS = 3;

export async function checkGates(server: Server): Promise<Gate[]> {
  const gates: Gate[] = [];
  for (const subject of [postcommitPg, postcommitTypeorm, postcommitPrisma]) {
    gates.push(...(await inPlace(server, (place) => enqueueGates(subject, place))));
  }
  gates.push(...(await inPlace(server, dispatchGates)));
  return gates;
}

async function inPlace<T>(server: Server, work: (place: Place) => Promise<T>): Promise<T> {
  const place = await server.open();
  try {
    return await work(place);
  } finally {
    await place.drop();
  }
}

/** One statement for any number of messages, in a transaction that is there anyway; one to claim, one to settle. */
async function enqueueGates(subject: Subject, place: Place): Promise<Gate[]> {
  await subject.prepare(place);
  const gates: Gate[] = [];
  for (const messages of [1, BATCH_SIZE]) {
    const open = await subject.open(place);
    try {
      // Opens connections, which send statements of their own in some clients.
      await open.transact?.([]);
      await open.claim?.();
      const orders = Array.from({ length: messages }, (_, index) => index);
      const enqueued = (await countStatements(() => open.transact?.(orders))) - BUSINESS;
      gates.push({
        name: `${subject.name}: enqueue ${messages} in a transaction`,
        wanted: 1,
        found: enqueued,
      });
      const claimed = await countStatements(() => open.claim?.());
      gates.push({ name: `${subject.name}: claim and settle ${messages}`, wanted: 2, found: claimed });
    } finally {
      // A store that has just notified would owe another notification by the next enqueue.
      await open.close();
    }
  }
  return gates;
}

async function dispatchGates(place: Place): Promise<Gate[]> {
  await createOutbox(place);
  // Opens the connections.
  await dispatchOn(place);
  // Each of these dispatchers is new, so it also asks which topics are paused; after that, at most once a second.
  return [
    { name: 'dispatchPending on an empty table', wanted: 2, found: await dispatchOn(place) },
    { name: `dispatchPending of ${BATCH_SIZE} rows`, wanted: 3, found: await dispatchOn(place, {}) },
    // The question, a look, then BEGIN, lock, claim and COMMIT, then the settle.
    {
      name: `dispatchPending of ${BATCH_SIZE} rows of one key`,
      wanted: 7,
      found: await dispatchOn(place, { key: 'k' }),
    },
  ];
}

/** With a store of its own: one whose last batch was full looks behind it first, and then at the front. */
async function dispatchOn({ pool }: Place, entry?: Partial<OutboxEntry>): Promise<number> {
  const store = new PgOutboxStore(pool, { wakeup: false });
  const dispatcher = new OutboxDispatcher(store, async () => {}, { batchSize: BATCH_SIZE });
  if (entry) {
    const orders = Array.from({ length: BATCH_SIZE }, (_, order) => order);
    await store.enqueue(orders.map((order) => ({ topic: 'order.paid', payload: payload(order), ...entry })));
  }
  return countStatements(() => dispatcher.dispatchPending());
}
