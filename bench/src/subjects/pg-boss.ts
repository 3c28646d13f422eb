import PgBoss from 'pg-boss';
import {
  BATCH_SIZE,
  type Consumer,
  type OpenSubject,
  orderOf,
  type Place,
  payload,
  type Report,
  type Subject,
} from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { pages } from './outbox-table.js';

const QUEUE = 'publish';
const WORKERS = 4;

const cannot = { keys: 'a queue for each key would be a table for each', seedLater: 'not tried' } as const;

export const pgBossWork: Subject = {
  id: 'pg-boss',
  name: 'pg-boss 10, best',
  settings:
    '`work` four times, batches of 1,000, polls every 0.5 s (its minimum), `notifyWorker` while batches are full; no maintenance, no cron',
  prepare,
  cannot,
  open: (place) => openWith(place, work),
};

export const pgBossFetch: Subject = {
  id: 'pg-boss-fetch',
  name: 'pg-boss 10, fetch and complete',
  settings:
    '`fetch` and `complete` in a loop of our own, batches of 1,000, four at once; no maintenance, no cron',
  prepare,
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  open: (place) => openWith(place, fetchAndComplete),
};

export const pgBossDefaults: Subject = {
  id: 'pg-boss-defaults',
  name: 'pg-boss 10, defaults',
  settings: '`work` with nothing set: one job every 2 s',
  prepare,
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  open: (place) =>
    openWith(place, async (boss, report) => {
      await boss.work(QUEUE, async (jobs) => report(jobs.map(({ data }) => orderOf(data))));
      return { stop: () => boss.offWork(QUEUE) };
    }),
};

async function prepare(place: Place): Promise<void> {
  const boss = await start(place);
  await boss.createQueue(QUEUE);
  await boss.stop({ graceful: true, wait: true });
}

async function start(place: Place): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: place.url, supervise: false, schedule: false, max: 10 });
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  return boss.start();
}

async function openWith(
  place: Place,
  consume: (boss: PgBoss, report: Report) => Promise<Consumer>,
): Promise<OpenSubject> {
  const boss = await start(place);
  const jobsOf = (orders: readonly number[]) =>
    orders.map((order) => ({ name: QUEUE, data: payload(order) }));
  return {
    seed: async ({ rows, firstOrder = 0 }) => {
      for (const page of pages(rows)) await boss.insert(jobsOf(page.map((index) => firstOrder + index)));
    },
    left: async () => {
      const { rows } = await place.pool.query<{ count: number }>(
        `select count(*)::int as count from pgboss.job where name = $1 and state < 'completed'`,
        [QUEUE],
      );
      return rows[0]?.count ?? 0;
    },
    consume: (report) => consume(boss, report),
    transact: (orders) =>
      businessTransaction(place, orders, async (client) => {
        const db = { executeSql: (text: string, values: unknown[]) => client.query(text, values) };
        if (orders.length === 1) await boss.send(QUEUE, payload(orders[0] ?? 0), { db });
        else await boss.insert(jobsOf(orders), { db });
      }),
    claim: async () => {
      const startedAt = performance.now();
      const jobs = await boss.fetch(QUEUE, { batchSize: BATCH_SIZE });
      const ms = performance.now() - startedAt;
      await complete(boss, jobs);
      return { ms, rows: jobs.length };
    },
    seedDispatched: async (rows) => {
      await place.pool.query(
        `insert into pgboss.job (name, data, state, created_on, started_on, completed_on, keep_until)
         select $2, jsonb_build_object('orderId', n, 'note', repeat('x', 160)), 'completed',
           now() - interval '2 days', now() - interval '1 day', now() - interval '1 day', now() + interval '14 days'
         from generate_series(1, $1::int) n`,
        [rows, QUEUE],
      );
    },
    close: async () => {
      await boss.stop({ graceful: true, wait: true });
    },
  };
}

/** A worker whose batch was full is told not to wait for its next poll. */
async function work(boss: PgBoss, report: Report): Promise<Consumer> {
  for (let index = 0; index < WORKERS; index++) {
    let id = '';
    id = await boss.work(QUEUE, { batchSize: BATCH_SIZE, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      report(jobs.map(({ data }) => orderOf(data)));
      if (jobs.length === BATCH_SIZE) boss.notifyWorker(id);
    });
  }
  return { stop: () => boss.offWork(QUEUE) };
}

async function fetchAndComplete(boss: PgBoss, report: Report): Promise<Consumer> {
  let isStopped = false;
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      const jobs = await boss.fetch(QUEUE, { batchSize: BATCH_SIZE });
      if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      report(jobs.map(({ data }) => orderOf(data)));
      await complete(boss, jobs);
    }
  };
  const loops = Array.from({ length: WORKERS }, loop);
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

async function complete(boss: PgBoss, jobs: ReadonlyArray<{ id: string }>): Promise<void> {
  if (jobs.length === 0) return;
  await boss.complete(
    QUEUE,
    jobs.map(({ id }) => id),
  );
}
