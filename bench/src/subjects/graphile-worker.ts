import type { RunnerOptions } from 'graphile-worker';
import { type OpenSubject, orderOf, type Place, payload, type Subject } from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { needsNode } from './node-version.js';
import { pages } from './outbox-table.js';

type Settings = Pick<RunnerOptions, 'maxPoolSize' | 'concurrency' | 'preset'>;

/** What is used of either version; each takes only loggers of its own. */
interface Library<Logger> {
  readonly Logger: new (factory: () => () => void) => Logger;
  makeWorkerUtils(options: Connection<Logger>): Promise<WorkerUtils>;
  run(options: Settings & Connection<Logger> & Tasks): Promise<{ stop(): Promise<void> }>;
}

type WorkerUtils = Pick<import('graphile-worker').WorkerUtils, 'migrate' | 'addJobs' | 'release'>;

interface Connection<Logger> {
  readonly connectionString: string;
  readonly logger: Logger;
}

interface Tasks {
  readonly noHandleSignals: boolean;
  readonly taskList: { readonly publish: (job: unknown) => Promise<void> };
}

const cannot = {
  claim: 'its claim cannot be timed alone',
  poisonHeads: 'not tried',
  seedDispatched: 'deletes what is done',
  seedLater: 'not tried',
} as const;

/** What its page on performance sets. */
const best = {
  settings:
    'as its page on performance has it: 24 concurrent jobs, 25 connections, local queue of 500, completion batched without delay; no log lines',
  options: {
    maxPoolSize: 25,
    concurrency: 24,
    preset: {
      worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
    },
  },
};

export const graphileWorker: Subject = {
  id: 'graphile-worker',
  name: 'graphile-worker 0.17, best',
  settings: best.settings,
  cannot,
  ...running(() => import('graphile-worker'), best.options),
};

export const graphileWorker018: Subject = {
  id: 'graphile-worker-0.18',
  name: 'graphile-worker 0.18, best',
  settings: best.settings,
  absent: needsNode(22, 18),
  cannot,
  ...running(() => import('graphile-worker-0.18'), best.options),
};

/** For latency: a local queue, and completions in batches, are for throughput. */
export const graphileWorker018Ten: Subject = {
  id: 'graphile-worker-0.18-ten',
  name: 'graphile-worker 0.18, ten jobs',
  settings: '10 concurrent jobs, 11 connections; no log lines',
  absent: needsNode(22, 18),
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  ...running(() => import('graphile-worker-0.18'), { concurrency: 10, maxPoolSize: 11 }),
};

export const graphileWorkerDefaults: Subject = {
  id: 'graphile-worker-defaults',
  name: 'graphile-worker 0.17, defaults',
  settings: 'nothing set, but no log lines',
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  ...running(() => import('graphile-worker'), {}),
};

/** Loads no library but its own, and not before it runs: memory is measured, and not every Node can load each. */
function running<Logger>(
  load: () => Promise<Library<Logger>>,
  options: Settings,
): Pick<Subject, 'prepare' | 'open'> {
  return {
    prepare: async (place) => migrate(await load(), place),
    open: async (place) => openWith(await load(), place, options),
  };
}

/** A line for each job would be a good part of its time. */
function silent<Logger>({ Logger }: Library<Logger>): Logger {
  return new Logger(() => () => {});
}

async function migrate<Logger>(library: Library<Logger>, { url }: Place): Promise<void> {
  const utils = await library.makeWorkerUtils({ connectionString: url, logger: silent(library) });
  await utils.migrate();
  await utils.release();
}

async function openWith<Logger>(
  library: Library<Logger>,
  place: Place,
  options: Settings,
): Promise<OpenSubject> {
  const logger = silent(library);
  const utils = await library.makeWorkerUtils({ connectionString: place.url, logger });
  return {
    seed: async ({ rows, keyOf, firstOrder = 0 }) => {
      for (const page of pages(rows)) {
        await utils.addJobs(
          page.map((index) => {
            const queueName = keyOf?.(index);
            const job = { identifier: 'publish', payload: payload(firstOrder + index) };
            return queueName === undefined ? job : { ...job, queueName };
          }),
        );
      }
    },
    left: async () => {
      const { rows } = await place.pool.query<{ count: number }>(
        'select count(*)::int as count from graphile_worker.jobs',
      );
      return rows[0]?.count ?? 0;
    },
    consume: async (report) => {
      const runner = await library.run({
        ...options,
        connectionString: place.url,
        noHandleSignals: true,
        logger,
        taskList: { publish: async (job) => report([orderOf(job)]) },
      });
      return { stop: () => runner.stop() };
    },
    transact: (orders) =>
      businessTransaction(place, orders, (client) =>
        orders.length === 1
          ? client.query("select graphile_worker.add_job('publish', $1::json)", [
              JSON.stringify(payload(orders[0] ?? 0)),
            ])
          : client.query(
              `select graphile_worker.add_jobs(array(
                 select json_populate_record(null::graphile_worker.job_spec, spec)
                 from json_array_elements($1::json) spec))`,
              [JSON.stringify(orders.map((order) => ({ identifier: 'publish', payload: payload(order) })))],
            ),
      ),
    close: async () => {
      await utils.release();
    },
  };
}
