/** Cron instead of the worker: one job dispatches every second, another deletes what was dispatched long ago. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { OutboxRetentionModule } from '@postcommit/retention';
import { OutboxSchedulerModule, Scheduler, SchedulerCronerModule } from '@postcommit/scheduler';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const DAY_MS = 24 * 60 * 60_000;
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const happened = new EventEmitter();

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: async ({ id, topic }) => {
    console.log('published', topic);
    happened.emit(id);
  },
  modules: [
    SchedulerCronerModule,
    OutboxSchedulerModule.forRoot({ schedule: '*/1 * * * * *' }),
    // A sweep a day is enough (`0 3 * * *`, the default); here it must not take until three in the morning.
    OutboxRetentionModule.forRoot({
      retentionMs: 7 * DAY_MS,
      schedule: '*/1 * * * * *',
      onPurged: ({ dispatched }) => happened.emit(dispatched > 0 ? 'swept' : 'nothing to sweep'),
    }),
  ],
});
await outbox.migrate();

const [old = '', dead = '', fresh = ''] = await outbox.enqueue([
  { topic: 'old.dispatched', payload: {} },
  { topic: 'old.dead', payload: {} },
  { topic: 'order.paid', payload: {} },
]);
await outbox.store.markDispatched([old]);
await outbox.store.markDead(dead, 'poison');
// Ages two of them by eight days.
await pool.query(
  `update outbox set dispatched_at = dispatched_at - interval '8 days', dead_at = dead_at - interval '8 days'
   where id in ($1, $2)`,
  [old, dead],
);

const both = Promise.all([once(happened, 'swept'), once(happened, fresh)]);
await outbox.start();
for (const { name, schedule } of outbox.app.get(Scheduler).plan()) console.log(`planned ${name} ${schedule}`);
const signal = await outbox.runUntilSignal({ until: both });

const left = await Promise.all([old, dead, fresh].map((id) => outbox.store.peek({ id }, 1)));
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(
  left.flat().map(({ topic }) => topic),
  ['old.dead', 'order.paid'],
);
console.log(
  'The old dispatched row was swept; the fresh one stays, and so does the dead one until somebody acts.',
);
