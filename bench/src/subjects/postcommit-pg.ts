import { OutboxDispatcher, type OutboxRow } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import { BATCH_SIZE, payload, type Subject } from '../subject.js';
import { createOutbox, seedOutbox } from './outbox-table.js';

export const postcommitPg: Subject = {
  name: 'postcommit store-pg',
  open: async (place) => {
    await createOutbox(place);
    const store = new PgOutboxStore(place.pool);
    let unkeyed = 0;
    const publish = async (row: OutboxRow): Promise<void> => {
      if (row.key === undefined) unkeyed += 1;
    };
    const dispatcher = new OutboxDispatcher(store, publish, { batchSize: BATCH_SIZE });
    return {
      seed: (workload) => seedOutbox(place, workload),
      drain: async () => {
        let total = 0;
        for (let summary = await dispatcher.dispatchPending(); summary.fetched > 0; ) {
          total += summary.dispatched;
          summary = await dispatcher.dispatchPending();
        }
        return total;
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
      enqueueOne: async (orderId) => {
        const client = await place.pool.connect();
        await client.query('begin');
        await client.query('insert into orders (number) values ($1)', [orderId]);
        await store.enqueueWith(client, { topic: 'order.paid', payload: payload(orderId) });
        await client.query('commit');
        client.release();
      },
      enqueueBulk: async (count) => {
        const client = await place.pool.connect();
        await client.query('begin');
        const entries = Array.from({ length: count }, (_, index) => ({
          topic: 'order.paid',
          payload: payload(index),
        }));
        await store.enqueueWith(client, entries);
        await client.query('commit');
        client.release();
      },
      close: async () => {},
    };
  },
};
