/**
 * Walks one message from its enqueue to its purge: a row without a key, on PostgreSQL, published by a worker that is
 * already listening. Prints a JSON list of our source files in which a function was executed.
 *
 *   DATABASE_URL=… TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/architecture/walk-one-message.ts
 */
import { Session } from 'node:inspector/promises';
import { createOutbox } from '@postcommit/core';
import { OutboxRetentionJob } from '@postcommit/retention';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const outbox = createOutbox({ store: pgStore(pool), publisher: async () => {}, logger: false });
const retention = new OutboxRetentionJob(outbox.store, undefined, { retentionMs: 1, logger: false });
let onSettled = (): void => {};
outbox.on('batch', () => onSettled());
const listening = new Promise<void>((resolve) => {
  outbox.on('wakeup', ({ isListening }) => isListening && resolve());
});

await outbox.migrate();
await outbox.start();
await listening;
// The first walk opens connections and prepares statements. Those that follow are alike.
await publishOne();
await retention.execute();
const walks: Array<Set<string>> = [];
for (let walk = 0; walk < 3; walk++) walks.push(await filesRunBy(publishOne));
// The worker looks for more rows all the time, so it does not run while the purge is measured.
await outbox.stop();
const purge = await filesRunBy(() => retention.execute());
await pool.end();
// A timer may fire during one walk: only what is part of each of them belongs to the message.
const [first = new Set<string>(), ...others] = walks;
const always = [...first].filter((file) => others.every((walk) => walk.has(file)));
process.stdout.write(`${JSON.stringify([...new Set([...always, ...purge])].sort())}\n`);

async function publishOne(): Promise<void> {
  const settled = new Promise<void>((resolve) => {
    onSettled = resolve;
  });
  const client = await pool.connect();
  await client.query('begin');
  await outbox.enqueueWith(client, { topic: 'order.paid', payload: { id: 'order-1' } });
  await client.query('commit');
  client.release();
  await settled;
}

/** Counted by V8. */
async function filesRunBy(work: () => Promise<unknown>): Promise<Set<string>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // Counts start again at each reading.
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const run = result.filter(({ functions }) =>
    functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)),
  );
  return new Set(run.flatMap(({ url }) => /packages\/([^?]+\/src\/[^?]+)/.exec(url)?.[1] ?? []));
}
