import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { BATCH_SIZE, type OpenSubject, orderOf, type Place, payload, type Subject } from '../subject.js';
import { businessTransaction } from './business-transaction.js';
import { pages } from './outbox-table.js';

/** A line for each job would be a good part of its time. */
const logger = new Logger(() => () => {});

const cannot = {
  claim: 'its claim is not to be had alone',
  poisonHeads: 'not tried',
  seedDispatched: 'deletes what is done',
  seedLater: 'not tried',
} as const;

/** What its page on performance sets, but with a local queue of 1,000 instead of 500: as many as all others take at once. */
export const graphileWorker: Subject = {
  id: 'graphile-worker',
  name: 'graphile-worker 0.17, best',
  settings:
    '24 concurrent jobs, 25 connections, local queue of 1,000, completion batched without delay, no log lines',
  prepare: migrate,
  cannot,
  open: (place) =>
    openWith(place, {
      maxPoolSize: 25,
      concurrency: 24,
      preset: {
        worker: { localQueue: { size: BATCH_SIZE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
      },
    }),
};

export const graphileWorkerDefaults: Subject = {
  id: 'graphile-worker-defaults',
  name: 'graphile-worker 0.17, defaults',
  settings: 'nothing set, but no log lines',
  prepare: migrate,
  cannot: { ...cannot, transact: 'enqueues as with its best settings' },
  open: (place) => openWith(place, {}),
};

async function migrate({ url }: Place): Promise<void> {
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  await utils.release();
}

async function openWith(place: Place, settings: Parameters<typeof run>[0]): Promise<OpenSubject> {
  const utils = await makeWorkerUtils({ connectionString: place.url, logger });
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
      const runner = await run({
        ...settings,
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
