import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { BATCH_SIZE, payload, type Subject } from '../subject.js';

/** A line for each job would be a good part of its time. */
const quiet = new Logger(() => () => {});

/** With the settings its performance page recommends: a local queue and completion in batches. */
export const graphileWorker: Subject = {
  name: 'graphile-worker 0.17',
  open: async (place) => {
    const utils = await makeWorkerUtils({ connectionString: place.url, logger: quiet });
    await utils.migrate();
    let seeded = 0;
    return {
      seed: async ({ rows }) => {
        seeded += rows;
        for (let from = 0; from < rows; from += 20_000) {
          const specs = Array.from({ length: Math.min(20_000, rows - from) }, (_, offset) => ({
            identifier: 'publish',
            payload: payload(from + offset),
          }));
          await utils.addJobs(specs);
        }
      },
      drain: async () => {
        let done = 0;
        let allDone: () => void = () => {};
        const all = new Promise<void>((resolve) => {
          allDone = resolve;
        });
        const runner = await run({
          connectionString: place.url,
          maxPoolSize: 25,
          concurrency: 24,
          noHandleSignals: true,
          logger: quiet,
          preset: {
            worker: { localQueue: { size: BATCH_SIZE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
          },
          taskList: {
            publish: async () => {
              done += 1;
              if (done === seeded) allDone();
            },
          },
        } as Parameters<typeof run>[0]);
        await all;
        await runner.stop();
        return done;
      },
      enqueueOne: async (orderId) => {
        const client = await place.pool.connect();
        await client.query('begin');
        await client.query('insert into orders (number) values ($1)', [orderId]);
        await client.query("select graphile_worker.add_job('publish', $1::json)", [
          JSON.stringify(payload(orderId)),
        ]);
        await client.query('commit');
        client.release();
      },
      enqueueBulk: async (count) => {
        await utils.addJobs(
          Array.from({ length: count }, (_, index) => ({ identifier: 'publish', payload: payload(index) })),
        );
      },
      close: async () => {
        await utils.release();
      },
    };
  },
};
