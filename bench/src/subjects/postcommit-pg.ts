import { PgOutboxStore } from '@postcommit/store-pg';
import { payload, type Subject } from '../subject.js';
import { createOutbox } from './outbox-table.js';
import { dispatching } from './postcommit-stores.js';

export const postcommitPg: Subject = {
  name: 'postcommit store-pg',
  open: async (place) => {
    await createOutbox(place);
    const store = new PgOutboxStore(place.pool);
    return {
      ...dispatching(place, store),
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
    };
  },
};

/** One dispatcher, which claims a batch while it settles another: two calls of `dispatchPending` take turns. */
export const postcommitPgOverlapping: Subject = {
  name: 'postcommit store-pg, two batches at once',
  open: async (place) => {
    await createOutbox(place);
    return dispatching(place, new PgOutboxStore(place.pool), async () => {}, 2);
  },
};
