import { Queue, Worker } from 'bullmq';
import { atEnd } from '../at-end.js';
import { type OpenSubject, orderOf, type Place, payload, type Subject } from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { pages } from './outbox-table.js';
import { connectRedis, deleteKeys, describeRedis } from './redis.js';

const QUEUE = 'publish';

const absent = async (): Promise<string | undefined> =>
  (await describeRedis()) === undefined ? 'not run: no Redis' : undefined;

const cannot = {
  keys: 'groups are not in its free edition',
  claim: 'its claim cannot be timed alone',
  poisonHeads: 'has no keys',
  seedDispatched: 'removes what is done',
  seedLater: 'not tried',
} as const;

export const bullmq: Subject = {
  id: 'bullmq',
  name: 'BullMQ 6, best',
  settings:
    'concurrency 100, where its guide begins (100 to 300), removeOnComplete; on Redis. A message is added after COMMIT: it is lost if the process ends in between',
  absent,
  prepare: async () => {},
  cannot,
  open: (place) => openWith(place, { concurrency: 100, removeOnComplete: { count: 0 } }),
};

export const bullmqDefaults: Subject = {
  id: 'bullmq-defaults',
  name: 'BullMQ 6, defaults',
  settings: 'nothing set: one job at a time, and all are kept',
  absent,
  prepare: async () => {},
  cannot: { ...cannot, transact: 'enqueues as with its best settings', seedDispatched: 'not tried' },
  open: (place) => openWith(place, {}),
};

async function openWith(
  place: Place,
  settings: { concurrency?: number; removeOnComplete?: { count: number } },
): Promise<OpenSubject> {
  // One queue for each database, shared by all processes that work on it; nothing of it is left in Redis.
  const prefix = `postcommit-${place.name}`;
  const isBenchmark = process.env.BENCH_SUBJECT === undefined;
  const forget = isBenchmark ? atEnd(() => deleteKeys(prefix)) : () => {};
  const connection = connectRedis();
  const queue = new Queue(QUEUE, { connection, prefix });
  const add = (orders: readonly number[]) =>
    queue.addBulk(orders.map((order) => ({ name: QUEUE, data: payload(order) })));
  return {
    seed: async ({ rows, firstOrder = 0 }) => {
      for (const page of pages(rows)) await add(page.map((index) => firstOrder + index));
    },
    left: async () => {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    consume: async (report) => {
      const publish = async ({ data }: { data: unknown }) => report([orderOf(data)]);
      const worker = new Worker(QUEUE, publish, { connection, prefix, ...settings });
      worker.on('error', (error) => process.stderr.write(`BullMQ: ${error.message}\n`));
      await worker.waitUntilReady();
      return { stop: () => worker.close() };
    },
    transact: async (orders) => {
      const sentAt = await businessTransaction(place, orders, async () => {});
      if (orders.length === 1) await queue.add(QUEUE, payload(orders[0] ?? 0));
      else if (orders.length > 0) await add(orders);
      return sentAt;
    },
    close: async () => {
      await queue.close();
      connection.disconnect();
      forget();
      if (isBenchmark) await deleteKeys(prefix);
    },
  };
}
