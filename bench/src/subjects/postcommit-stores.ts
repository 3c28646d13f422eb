import { OutboxDispatcher, type OutboxRow, type OutboxStore } from '@postcommit/core';
import { PrismaOutboxStore } from '@postcommit/store-prisma';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import { setup as generatePrismaClient } from '../../../packages/store-prisma/test/generate-client.mjs';
import { BATCH_SIZE, type OpenSubject, type Place, type Subject } from '../subject.js';
import { createOutbox, seedDispatched, seedLater, seedOutbox } from './outbox-table.js';

export const postcommitTypeorm: Subject = {
  name: 'postcommit store-typeorm',
  open: async (place) => {
    await createOutbox(place);
    const dataSource = await new DataSource({ type: 'postgres', url: place.url }).initialize();
    return dispatching(place, new TypeormOutboxStore(dataSource), () => dataSource.destroy());
  },
};

export const postcommitPrisma: Subject = {
  name: 'postcommit store-prisma',
  open: async (place) => {
    await createOutbox(place);
    await generatePrismaClient();
    const { PrismaClient } = await import('../../../packages/store-prisma/test/gen/client.js');
    const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: place.url }) });
    return dispatching(place, new PrismaOutboxStore(client), () => client.$disconnect());
  },
};

/** What the benchmark does with any of our stores. */
export function dispatching(
  place: Place,
  store: OutboxStore,
  close: () => Promise<void> = async () => {},
  batchesAtOnce = 1,
): OpenSubject {
  let unkeyed = 0;
  const publish = async (row: OutboxRow): Promise<void> => {
    if (row.key === undefined) unkeyed += 1;
  };
  const dispatcher = new OutboxDispatcher(store, publish, { batchSize: BATCH_SIZE });
  return {
    seed: (workload) => seedOutbox(place, workload),
    drain: async () => {
      const counts = await Promise.all(Array.from({ length: batchesAtOnce }, () => drainWith(dispatcher)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    seedBeside: async (workload, poison) => {
      await seedOutbox(place, workload, 'beside');
      if (!poison) return;
      await place.pool.query(`
        update outbox set available_at = now() + interval '1 hour', attempts = 1
        where seq in (select min(seq) from outbox where key is not null group by key)`);
    },
    drainUnkeyed: async (rows) => {
      for (unkeyed = 0; unkeyed < rows; ) await dispatcher.dispatchPending();
      return unkeyed;
    },
    seedDispatched: (rows) => seedDispatched(place, rows),
    seedLater: (rows) => seedLater(place, rows),
    claim: async () => (await store.fetchPending(BATCH_SIZE)).length,
    close,
  };
}

/** Batch after batch until nothing is due. */
async function drainWith(dispatcher: OutboxDispatcher): Promise<number> {
  let total = 0;
  for (let summary = await dispatcher.dispatchPending(); summary.fetched > 0; ) {
    total += summary.dispatched;
    summary = await dispatcher.dispatchPending();
  }
  return total;
}
