import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { OutboxRow } from '@postcommit/core';
import {
  composeModules,
  type OutboxApp,
  OutboxModule,
  OutboxPublisher,
  OutboxWorker,
  type PublishResult,
} from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { BATCH_SIZE, type Place, payload, type Subject } from '../subject.js';
import { createOutbox, seedOutbox } from './outbox-table.js';

const DONE: PublishResult = { status: 'fulfilled' };

/** A broker that takes whole batches and does nothing with them. */
export class CountingPublisher extends OutboxPublisher {
  readonly #onPublished: (rows: readonly OutboxRow[]) => void;

  constructor(onPublished: (rows: readonly OutboxRow[]) => void) {
    super();
    this.#onPublished = onPublished;
  }

  async publish(row: OutboxRow): Promise<void> {
    this.#onPublished([row]);
  }

  override async publishBatch(rows: readonly OutboxRow[]): Promise<PublishResult[]> {
    this.#onPublished(rows);
    return rows.map(() => DONE);
  }
}

export function workerApp(
  place: Place,
  onPublished: (rows: readonly OutboxRow[]) => void,
  wakeup = true,
): OutboxApp {
  return composeModules([
    OutboxModule.forRoot({ publisher: new CountingPublisher(onPublished), batchSize: BATCH_SIZE }),
    OutboxPgModule.forRoot({ pool: place.pool, wakeup }),
  ]);
}

/** A worker without an application around it. */
export function makeWorker(place: Place, onPublished: (rows: readonly OutboxRow[]) => void): OutboxWorker {
  return new OutboxWorker(new PgOutboxStore(place.pool), new CountingPublisher(onPublished), {
    batchSize: BATCH_SIZE,
  });
}

/** One process, one worker. */
export const postcommitWorker: Subject = {
  name: 'postcommit worker',
  open: async (place) => {
    await createOutbox(place);
    let seeded = 0;
    return {
      seed: (workload) => {
        seeded += workload.rows;
        return seedOutbox(place, workload);
      },
      drain: async () => {
        let published = 0;
        let allDone: () => void = () => {};
        const all = new Promise<void>((resolve) => {
          allDone = resolve;
        });
        const worker = makeWorker(place, (rows) => {
          published += rows.length;
          if (published >= seeded) allDone();
        });
        worker.start();
        await all;
        // Waits until all is settled: a row that is published but not recorded is not done.
        await worker.stop();
        return published;
      },
      close: async () => {},
    };
  },
};

/** Two processes, a worker in each. They are up before the clock starts. */
export const postcommitTwoProcesses: Subject = {
  name: 'postcommit worker, two processes',
  open: async (place) => {
    await createOutbox(place);
    const workers = [1, 2].map(() =>
      fork(new URL('../worker-process.ts', import.meta.url), {
        env: { ...process.env, BENCH_URL: place.url },
      }),
    );
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    return {
      seed: (workload) => seedOutbox(place, workload),
      drain: async () => {
        for (const worker of workers) worker.send('start');
        await untilDrained(place);
        const counts = workers.map((worker) => once(worker, 'message'));
        for (const worker of workers) worker.send('stop');
        return (await Promise.all(counts)).reduce((sum, [count]) => sum + Number(count), 0);
      },
      close: async () => {
        await Promise.all(
          workers.map(async (worker) => {
            const exited = once(worker, 'exit');
            worker.disconnect();
            await exited;
          }),
        );
      },
    };
  },
};

/** Everything is settled: a row that is published but not recorded is not done. */
async function untilDrained({ pool }: Place): Promise<void> {
  const pending =
    'select exists (select from outbox where dispatched_at is null and dead_at is null and key is null) as any';
  for (;;) {
    const { rows } = await pool.query<{ any: boolean }>(pending);
    if (!rows[0]?.any) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** A message in a business transaction, by a store that no worker of this process listens to. */
export async function enqueueInTransaction(
  place: Place,
  store: PgOutboxStore,
  orderId: number,
): Promise<void> {
  const client = await place.pool.connect();
  try {
    await client.query('begin');
    await client.query('insert into orders (number) values ($1)', [orderId]);
    await store.enqueueWith(client, {
      id: `order-${orderId}`,
      topic: 'order.paid',
      payload: payload(orderId),
    });
    await client.query('commit');
  } finally {
    client.release();
  }
}
