/** A dispatcher in a process of its own, so that it can be killed. The broker is a table that it writes to. */
import { setTimeout } from 'node:timers/promises';
import { composeModules, OutboxDispatcher, OutboxModule } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import pg from 'pg';

const BROKER_FAILURE_RATE = 0.1;

const pool = new pg.Pool({ connectionString: process.env.DEMO_DATABASE_URL });
const app = composeModules([
  OutboxModule.forRoot({
    concurrency: 10,
    publishTimeoutMs: 1_000,
    backoff: { type: 'exponential', delayMs: 50, maxDelayMs: 1_000, jitter: 'full' },
    publisher: async (row) => {
      if (Math.random() < BROKER_FAILURE_RATE) throw new Error('broker unavailable');
      const text = 'insert into broker (message_id, order_id, dispatcher) values ($1, $2, $3)';
      await pool.query(text, [row.id, row.key, process.pid]);
    },
  }),
  // Short, so that the demo need not wait five minutes for the claims of the one that is killed.
  OutboxPgModule.forRoot({ pool, claimTimeoutMs: 2_000 }),
]);

const dispatcher = app.get(OutboxDispatcher);
let running = true;
process.once('SIGTERM', () => {
  running = false;
});
while (running) {
  const { fetched } = await dispatcher.dispatchPending();
  if (fetched === 0) await setTimeout(25);
}
await pool.end();
