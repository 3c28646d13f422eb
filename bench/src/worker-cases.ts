import { setTimeout } from 'node:timers/promises';
import { type OutboxApp, OutboxSignals } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import type { Case, Sizes } from './cases.js';
import { measureInSlices, percentile, type Result, rateOf } from './measure.js';
import { settleDown } from './place.js';
import { type Place, payload, type Subject } from './subject.js';
import { createOutbox, seedOutbox } from './subjects/outbox-table.js';
import { enqueueInTransaction, workerApp } from './subjects/postcommit-worker.js';

const SAMPLES = 60;
/** Between two messages: long enough for a worker to have fallen back to seldom polling. */
const QUIET_MS = 300;

/** Waits for a message to be published, by its number. */
class Arrivals {
  readonly #waiting = new Map<number, (at: number) => void>();

  next(order: number): Promise<number> {
    return new Promise((resolve) => this.#waiting.set(order, resolve));
  }

  arrived(order: number): void {
    this.#waiting.get(order)?.(performance.now());
    this.#waiting.delete(order);
  }
}

/** Milliseconds from sending COMMIT to the publisher's call, one message at a time on an idle system. */
export function latencyCase(): Case {
  const lines: Array<{ name: string; open(place: Place, arrivals: Arrivals): Promise<Latency> }> = [
    { name: 'postcommit, NOTIFY', open: (place, arrivals) => openOutbox(place, arrivals, true) },
    { name: 'postcommit, same process', open: (place, arrivals) => openOutbox(place, arrivals, false) },
    { name: 'graphile-worker 0.17', open: openGraphile },
  ];
  return {
    name: 'commit to publish on an idle system',
    unit: 'ms',
    run: async (server, rounds) => {
      const results: Result[] = [];
      for (const { name, open } of lines) {
        const latencies = await server.withPlace(async (place) => {
          const arrivals = new Arrivals();
          const subject = await open(place, arrivals);
          await settleDown(place);
          const measured = await measureLatencies(subject, arrivals, SAMPLES * rounds);
          await subject.close();
          return measured;
        });
        process.stderr.write(`  ${name}\n`);
        results.push(
          { name, rates: latencies },
          { name: `${name}, p95`, rates: [percentile(latencies, 0.95)] },
        );
      }
      return results;
    },
    targets: [
      { of: 'postcommit, NOTIFY', to: 'graphile-worker 0.17', atMost: 1 },
      { of: 'postcommit, NOTIFY, p95', to: 'graphile-worker 0.17, p95', atMost: 1 },
      { of: 'postcommit, same process', to: 10, atMost: 1 },
    ],
  };
}

interface Latency {
  /** A business transaction with one message; gives when COMMIT was sent. */
  enqueue(order: number): Promise<number>;
  close(): Promise<void>;
}

async function measureLatencies(
  { enqueue }: Latency,
  arrivals: Arrivals,
  samples: number,
): Promise<number[]> {
  const latencies: number[] = [];
  for (let order = 1; order <= samples; order++) {
    // Not in step with anybody's timer.
    await setTimeout(QUIET_MS + (order % 7) * 30);
    const arrival = arrivals.next(order);
    const sentAt = await enqueue(order);
    latencies.push((await arrival) - sentAt);
  }
  return latencies;
}

async function openOutbox(place: Place, arrivals: Arrivals, fromElsewhere: boolean): Promise<Latency> {
  await createOutbox(place);
  const app = workerApp(
    place,
    (rows) => {
      for (const { payload: order } of rows) arrivals.arrived((order as { orderId: number }).orderId);
    },
    fromElsewhere,
  );
  const listening = fromElsewhere ? untilListening(app) : undefined;
  await app.start();
  await listening;
  // A store of its own has no worker that listens to it: it must notify, as another process would.
  const store = fromElsewhere ? new PgOutboxStore(place.pool) : app.get(PgOutboxStore);
  return { enqueue: (order) => committing(place, order, store), close: () => app.stop() };
}

async function untilListening(app: OutboxApp): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    app
      .get(OutboxSignals)
      .on('wakeup', ({ isListening, error }) => (isListening ? resolve() : reject(error)));
  });
}

async function committing(place: Place, order: number, store: PgOutboxStore): Promise<number> {
  const client = await place.pool.connect();
  try {
    await client.query('begin');
    await client.query('insert into orders (number) values ($1)', [order]);
    await store.enqueueWith(client, { topic: 'order.paid', payload: payload(order) });
    const sentAt = performance.now();
    await client.query('commit');
    return sentAt;
  } finally {
    client.release();
  }
}

async function openGraphile(place: Place, arrivals: Arrivals): Promise<Latency> {
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString: place.url, logger });
  await utils.migrate();
  const runner = await run({
    connectionString: place.url,
    concurrency: 4,
    noHandleSignals: true,
    logger,
    taskList: { publish: async (job) => arrivals.arrived((job as { orderId: number }).orderId) },
  });
  return {
    enqueue: async (order) => {
      const client = await place.pool.connect();
      try {
        await client.query('begin');
        await client.query('insert into orders (number) values ($1)', [order]);
        await client.query("select graphile_worker.add_job('publish', $1::json)", [
          JSON.stringify(payload(order)),
        ]);
        const sentAt = performance.now();
        await client.query('commit');
        return sentAt;
      } finally {
        client.release();
      }
    },
    close: async () => {
      await runner.stop();
      await utils.release();
    },
  };
}

/** What NOTIFY costs the producers: fifty at once, each message in a business transaction of its own. */
export function wakeupCase({ enqueues }: Sizes): Case {
  const subject = (name: string, wakeup: boolean): Subject => ({
    name,
    open: async (place) => {
      await createOutbox(place);
      const store = new PgOutboxStore(place.pool, { wakeup });
      return {
        seed: async () => {},
        enqueueOne: (order) => enqueueInTransaction(place, store, order),
        close: async () => {},
      };
    },
  });
  const lines = [subject('wake-up on', true), subject('wake-up off', false)];
  let order = 0;
  const nextOrder = (): number => {
    order += 1;
    return order;
  };
  return {
    name: 'a business transaction with one message, 50 connections',
    unit: 'transactions/s',
    run: (server, rounds) =>
      measureInSlices(
        server,
        lines.map((line) => ({
          name: line.name,
          subject: line,
          slice: (open) =>
            rateOf(async () => {
              const count = Math.ceil(enqueues / 50);
              const producer = async (): Promise<void> => {
                for (let done = 0; done < count; done++) await open.enqueueOne?.(nextOrder());
              };
              await Promise.all(Array.from({ length: 50 }, producer));
              return 50 * count;
            }),
        })),
        rounds * 4,
      ),
    targets: [{ of: 'wake-up on', to: 'wake-up off', atLeast: 0.9 }],
  };
}

/** The heap after a collection, at the first and at the last tenth of a long drain. */
export function memoryCase({ memoryRows: rows }: Sizes): Case {
  return {
    name: `memory of a worker that drains ${rows} rows`,
    unit: 'MiB of heap after collection',
    run: (server) => server.withPlace((place) => measureMemory(place, rows)),
    targets: [{ of: 'last tenth', to: 'first tenth', atMost: 1.25 }],
  };
}

async function measureMemory(place: Place, rows: number): Promise<Result[]> {
  if (!globalThis.gc) throw new Error('run node with --expose-gc');
  await createOutbox(place);
  await seedOutbox(place, { rows });
  await settleDown(place);
  const samples: number[] = [];
  let published = 0;
  let allDone: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    allDone = resolve;
  });
  const app = workerApp(place, (batch) => {
    const before = Math.floor((published * 100) / rows);
    published += batch.length;
    if (Math.floor((published * 100) / rows) > before) samples.push(heapMiB());
    if (published >= rows) allDone();
  });
  await app.start();
  await all;
  await app.stop();
  const tenth = Math.floor(samples.length / 10);
  return [
    { name: 'first tenth', rates: samples.slice(1, 1 + tenth) },
    { name: 'last tenth', rates: samples.slice(-tenth) },
  ];
}

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
