import { setUp } from '../place.js';
import { BATCH_SIZE, orderOf, payload, type Subject } from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { addMessages, relay, relayBatch, SCHEMA } from './hand-written-outbox.js';
import { pages } from './outbox-table.js';

/** What a competent engineer writes in an afternoon. */
export const handWritten: Subject = {
  id: 'hand-written',
  name: 'hand-written outbox',
  settings:
    'sixty lines: SKIP LOCKED, batches of 1,000, partial index, polls every 50 ms; the rows stay locked, in an open transaction, while they are published',
  prepare: (place) => setUp(place, (pool) => pool.query(SCHEMA)),
  cannot: { keys: 'has no keys', seedLater: 'has no rows for later', poisonHeads: 'has no keys' },
  open: async (place) => ({
    seed: async ({ rows, firstOrder = 0 }) => {
      for (const page of pages(rows)) {
        const client = await place.pool.connect();
        const payloads = page.map((index) => payload(firstOrder + index));
        await addMessages(client, 'order.paid', payloads).finally(() => client.release());
      }
    },
    left: async () => {
      const { rows } = await place.pool.query<{ count: number }>(
        'select count(*)::int as count from messages where dispatched_at is null',
      );
      return rows[0]?.count ?? 0;
    },
    consume: async (report) => {
      const stopping = new AbortController();
      const publish = async (message: { payload: unknown }) => report([orderOf(message.payload)]);
      const options = { batchSize: BATCH_SIZE, pollMs: 50, signal: stopping.signal };
      const ended = relay(place.pool, publish, options);
      return {
        stop: async () => {
          stopping.abort();
          await ended;
        },
      };
    },
    transact: (orders) =>
      businessTransaction(place, orders, (client) => addMessages(client, 'order.paid', orders.map(payload))),
    claim: async () => {
      const client = await place.pool.connect();
      const startedAt = performance.now();
      let ms: number | undefined;
      const rows = await relayBatch(client, BATCH_SIZE, async () => {
        ms ??= performance.now() - startedAt;
      }).finally(() => client.release());
      return { ms: ms ?? performance.now() - startedAt, rows };
    },
    seedDispatched: async (rows) => {
      await place.pool.query(
        `insert into messages (id, topic, payload, created_at, dispatched_at)
         select gen_random_uuid(), 'order.paid', jsonb_build_object('orderId', n, 'note', repeat('x', 160)),
           now() - interval '2 days', now() - interval '1 day'
         from generate_series(1, $1::int) n`,
        [rows],
      );
    },
    close: async () => {},
  }),
};
