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
import { needsNode } from './node-version.js';
import { pages } from './outbox-table.js';

const QUEUE = 'publish';
const WORKERS = 4;

const cannot = { keys: 'a queue for each key would be a table for each', seedLater: 'not tried' } as const;

/** What is called alike in both versions. */
interface Boss {
  send(name: string, data: object, options: Within): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<Job[]>;
  complete(name: string, ids: string[]): Promise<unknown>;
  work(name: string, handler: Handler): Promise<string>;
  work(name: string, options: Polling, handler: Handler): Promise<string>;
  offWork(name: string): Promise<void>;
  notifyWorker(id: string): void;
  stop(options: { graceful: boolean }): Promise<void>;
}

interface Job {
  readonly id: string;
  readonly data: unknown;
}

type Handler = (jobs: Job[]) => Promise<void>;

interface Polling {
  readonly batchSize: number;
  readonly pollingIntervalSeconds: number;
  readonly notifyPollingIntervalSeconds?: number;
}

/** The transaction that the jobs are part of. */
interface Within {
  readonly db: { executeSql(text: string, values: unknown[]): Promise<{ rows: unknown[] }> };
}

/** A version that runs, and what is called differently in each. */
interface Started {
  readonly boss: Boss;
  createQueue(): Promise<void>;
  insert(jobs: ReadonlyArray<{ data: object }>, within?: Within): Promise<unknown>;
}

/** Loads no library but its own, and not before it runs: memory is measured, and not every Node can load each. */
type Start = (place: Place) => Promise<Started>;

type Consume = (boss: Boss, report: Report) => Promise<Consumer>;

export const pgBossWork: Subject = {
  id: 'pg-boss',
  name: 'pg-boss 10, best',
  settings:
    '`work` four times, batches of 1,000, polls every 0.5 s (its minimum), `notifyWorker` while batches are full; no maintenance, no cron',
  cannot,
  ...running(start10, workWith({ batchSize: BATCH_SIZE, pollingIntervalSeconds: 0.5 })),
};

export const pgBoss12: Subject = {
  id: 'pg-boss-12',
  name: 'pg-boss 12, best',
  settings:
    '`work` four times, batches of 1,000, NOTIFY, polls every 0.5 s (its minimum) all the same, `notifyWorker` while batches are full; no maintenance, no cron',
  absent: needsNode(22, 12),
  cannot,
  ...running(
    start12,
    workWith({ batchSize: BATCH_SIZE, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 }),
  ),
};

export const pgBossFetch: Subject = {
  id: 'pg-boss-fetch',
  name: 'pg-boss 10, fetch and complete',
  settings:
    '`fetch` and `complete` in a loop of our own, batches of 1,000, four at once; no maintenance, no cron',
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  ...running(start10, fetchAndComplete),
};

export const pgBossDefaults: Subject = {
  id: 'pg-boss-defaults',
  name: 'pg-boss 10, defaults',
  settings: '`work` with nothing set: one job every 2 s',
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  ...running(start10, async (boss, report) => {
    await boss.work(QUEUE, async (jobs) => report(jobs.map(({ data }) => orderOf(data))));
    return { stop: () => boss.offWork(QUEUE) };
  }),
};

function running(start: Start, consume: Consume): Pick<Subject, 'prepare' | 'open'> {
  return {
    prepare: async (place) => {
      const { boss, createQueue } = await start(place);
      await createQueue();
      await boss.stop({ graceful: true });
    },
    open: async (place) => openWith(place, await start(place), consume),
  };
}

async function start10({ url }: Place): Promise<Started> {
  const { default: PgBoss } = await import('pg-boss');
  const boss = new PgBoss(settingsFor(url));
  boss.on('error', tell);
  await boss.start();
  return {
    boss,
    createQueue: () => boss.createQueue(QUEUE),
    insert: (jobs, within) => {
      const named = jobs.map((job) => ({ name: QUEUE, ...job }));
      return within ? boss.insert(named, within) : boss.insert(named);
    },
  };
}

async function start12({ url }: Place): Promise<Started> {
  const { PgBoss } = await import('pg-boss-12');
  const boss = new PgBoss({ ...settingsFor(url), useListenNotify: true });
  boss.on('error', tell);
  await boss.start();
  return {
    boss,
    createQueue: () => boss.createQueue(QUEUE, { notify: true }),
    insert: (jobs, within) => boss.insert(QUEUE, [...jobs], within),
  };
}

function settingsFor(connectionString: string) {
  return { connectionString, supervise: false, schedule: false, max: 10 };
}

function tell({ message }: Error): void {
  process.stderr.write(`pg-boss: ${message}\n`);
}

async function openWith(place: Place, { boss, insert }: Started, consume: Consume): Promise<OpenSubject> {
  const jobsOf = (orders: readonly number[]) => orders.map((order) => ({ data: payload(order) }));
  return {
    seed: async ({ rows, firstOrder = 0 }) => {
      for (const page of pages(rows)) await insert(jobsOf(page.map((index) => firstOrder + index)));
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
        else await insert(jobsOf(orders), { db });
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
      await boss.stop({ graceful: true });
    },
  };
}

/** After a full batch, a worker is notified so that it does not wait for its next poll. */
function workWith(polling: Polling): Consume {
  return async (boss, report) => {
    for (let index = 0; index < WORKERS; index++) {
      let id = '';
      id = await boss.work(QUEUE, polling, async (jobs) => {
        report(jobs.map(({ data }) => orderOf(data)));
        if (jobs.length === polling.batchSize) boss.notifyWorker(id);
      });
    }
    return { stop: () => boss.offWork(QUEUE) };
  };
}

async function fetchAndComplete(boss: Boss, report: Report): Promise<Consumer> {
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

async function complete(boss: Boss, jobs: ReadonlyArray<{ id: string }>): Promise<void> {
  if (jobs.length === 0) return;
  await boss.complete(
    QUEUE,
    jobs.map(({ id }) => id),
  );
}
