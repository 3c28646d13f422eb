/** A dispatcher in a process of its own, so that it can be killed: the worker with a publisher, as in a service. */
import { composeModules, DispatchEvents, OutboxModule } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { Broker } from './broker.js';
import { CLAIM_TIMEOUT_MS, type DispatcherReport } from './dispatcher-process.js';
import { connect } from './tables.js';

const name = process.argv[2] ?? '';
const pool = connect(process.env.DEMO_DATABASE_URL ?? '');
const broker = new Broker(pool);
// Only for the test that wants to see the demo fail: one message is acknowledged and never delivered.
let losesNext = process.env.DEMO_FAULT === 'lose-one' && name === 'A';

const app = composeModules([
  OutboxModule.forRoot({
    batchSize: 20,
    concurrency: 10,
    publishTimeoutMs: 1_500,
    backoff: { type: 'exponential', delayMs: 200, maxDelayMs: 1_600, jitter: 'full' },
    publisher: async (row) => {
      if (losesNext) losesNext = false;
      else await broker.deliver(row, name);
    },
  }),
  OutboxPgModule.forRoot({ pool, claimTimeoutMs: CLAIM_TIMEOUT_MS }),
]);

const report = (message: DispatcherReport): void => void process.send?.(message);
const events = app.get(DispatchEvents);
events.on('failed', ({ row, error, delayMs }) =>
  report({ kind: 'failed', topic: row.topic, attempt: row.attempts, error, delayMs }),
);
events.on('dead', () => report({ kind: 'dead' }));

// Ctrl-C reaches every process of the terminal; the demo itself ends its dispatchers, by closing the channel.
process.on('SIGINT', () => {});
process.once('disconnect', () => process.exit());
process.once('SIGTERM', async () => {
  await app.stop();
  await pool.end();
  process.disconnect();
});

await app.start();
report({ kind: 'ready' });
