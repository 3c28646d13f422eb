import { OutboxDispatcher } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import {
  BATCH_SIZE,
  type Consumer,
  type OpenSubject,
  orderOf,
  type Place,
  type Report,
  type Subject,
} from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { CountingPublisher } from './counting-publisher.js';
import { createOutbox, outboxTable } from './outbox-table.js';
import { claiming, enqueue, inBatches, runApplication } from './postcommit.js';

export const postcommitPg: Subject = {
  id: 'store-pg',
  name: 'postcommit, store-pg',
  settings: 'an application with its worker: batches of 1,000, to a publisher that takes batches',
  isOurs: true,
  prepare: createOutbox,
  open: async (place) => ({
    ...onPool(place),
    consume: (report) => runApplication(OutboxPgModule.forRoot({ pool: place.pool }), inBatches(report)),
  }),
};

export const postcommitPgDefaults: Subject = {
  id: 'store-pg-defaults',
  name: 'postcommit, store-pg, defaults',
  settings: 'an application with nothing set, and a function as its publisher, called for each row',
  isOurs: true,
  prepare: createOutbox,
  open: async (place) => ({
    ...onPool(place),
    consume: (report) =>
      runApplication(OutboxPgModule.forRoot({ pool: place.pool }), {
        publisher: async (row) => report([orderOf(row.payload)]),
      }),
  }),
};

export const postcommitOneCall: Subject = {
  id: 'store-pg-one-call',
  name: 'postcommit, store-pg, one call at a time',
  settings:
    'one dispatcher, one call of `dispatchPending` after another, on one connection at a time; batches of 1,000, to a publisher that takes batches',
  isOurs: true,
  prepare: createOutbox,
  cannot: { transact: 'enqueues as store-pg does' },
  open: async (place) => ({ ...onPool(place), consume: (report) => dispatchOn(place, report) }),
};

export const postcommitNoWakeup: Subject = {
  id: 'store-pg-no-wakeup',
  name: 'postcommit, store-pg, wake-up off',
  settings: 'no NOTIFY by the producers',
  isOurs: true,
  prepare: createOutbox,
  cannot: { consume: 'consumes as store-pg does' },
  open: async (place) => onPool(place, false),
};

/** As many processes would: no store knows what the others send. */
export const postcommitManyStores: Subject = {
  id: 'store-pg-many-stores',
  name: 'postcommit, store-pg, a store each',
  settings:
    'as store-pg, but each concurrent transaction has a store of its own, as if in a process of its own',
  isOurs: true,
  prepare: createOutbox,
  cannot: { consume: 'consumes as store-pg does' },
  open: async (place) => withManyStores(place),
};

/** Only the latency case knows how to run it: its consumer is no process of its own. */
export const postcommitSameProcess: Subject = {
  id: 'store-pg-same-process',
  name: 'postcommit, store-pg, same process',
  settings:
    'as store-pg, with the producer in the process of the worker: it learns of new rows without NOTIFY',
  isOurs: true,
  isApart: true,
  prepare: createOutbox,
  cannot: { consume: 'consumes in the process of the producer', transact: 'enqueues as store-pg does' },
  open: async (place) => onPool(place),
};

function onPool(place: Place, wakeup = true): OpenSubject {
  const store = new PgOutboxStore(place.pool, { wakeup });
  return {
    ...outboxTable(place),
    transact: (orders) => businessTransaction(place, orders, (client) => enqueue(store, client, orders)),
    claim: claiming(store),
    // A notification may still be owed, and the pool is about to end.
    close: () => store.flushWakeup(),
  };
}

function withManyStores(place: Place): OpenSubject {
  const idle: PgOutboxStore[] = [];
  const stores = new Set<PgOutboxStore>();
  return {
    ...outboxTable(place),
    transact: async (orders) => {
      const store = idle.pop() ?? new PgOutboxStore(place.pool);
      stores.add(store);
      const sentAt = await businessTransaction(place, orders, (client) => enqueue(store, client, orders));
      idle.push(store);
      return sentAt;
    },
    close: async () => {
      await Promise.all([...stores].map((store) => store.flushWakeup()));
    },
  };
}

async function dispatchOn({ pool }: Place, report: Report): Promise<Consumer> {
  const store = new PgOutboxStore(pool);
  const dispatcher = new OutboxDispatcher(store, new CountingPublisher(report), { batchSize: BATCH_SIZE });
  let isStopped = false;
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      const { fetched } = await dispatcher.dispatchPending();
      if (fetched === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const ended = loop();
  return {
    stop: async () => {
      isStopped = true;
      await ended;
    },
  };
}
