/** A worker in a process of its own, so that it can be killed. */
import { createOutbox, type OutboxRow } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import { Broker } from './broker.js';
import { publisherTo } from './brokers/broker-behind-ledger.js';
import { readAddress } from './brokers/real-broker.js';
import { CLAIM_TIMEOUT_MS, type DispatcherReport } from './dispatcher-process.js';
import { connect } from './tables.js';

const name = process.argv[2] ?? '';
const pool = connect(process.env.DEMO_DATABASE_URL ?? '');
const broker = new Broker(pool);
// For the test that wants to see the demo fail: one message is acknowledged but never delivered.
let losesNext = process.env.DEMO_FAULT === 'lose-one' && name === 'A';

async function deliver(row: OutboxRow): Promise<void> {
  if (losesNext) losesNext = false;
  else await broker.deliver(row, name);
}

const { DEMO_BROKER } = process.env;
const outbox = createOutbox({
  store: pgStore(pool, { claimTimeoutMs: CLAIM_TIMEOUT_MS }),
  logger: false, // the demo shows what happens
  batchSize: 20,
  concurrency: 10,
  publishTimeoutMs: 1_500,
  backoff: { type: 'exponential', delayMs: 200, maxDelayMs: 1_600, jitter: 'full' },
  publisher: DEMO_BROKER ? await publisherTo(readAddress(DEMO_BROKER), name, broker) : deliver,
});

const report = (message: DispatcherReport): void => void process.send?.(message);
outbox.on('failed', ({ row, error, delayMs }) =>
  report({ kind: 'failed', topic: row.topic, attempt: row.attempts, error, delayMs }),
);
outbox.on('dead', () => report({ kind: 'dead' }));
outbox.on('unavailable', () => report({ kind: 'unavailable' }));

// Instead of `runUntilSignal`: Ctrl-C reaches every process of the terminal, and the demo itself ends its workers.
process.on('SIGINT', () => {});
process.once('disconnect', () => process.exit());
process.once('SIGTERM', async () => {
  await outbox.stop();
  await pool.end();
  process.disconnect();
});

await outbox.start();
report({ kind: 'ready' });
