/** Cron instead of the worker: one job dispatches every second, another deletes what was dispatched long ago. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { composeModules, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { OutboxRetentionModule } from '@postcommit/retention';
import { OutboxSchedulerModule, Scheduler, SchedulerCronerModule } from '@postcommit/scheduler';
import { OutboxPgModule } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';

const DAY_MS = 24 * 60 * 60_000;
const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const happened = new EventEmitter();
const published: string[] = [];

const app = composeModules([
  OutboxModule.forRoot({
    publisher: async ({ topic }) => {
      console.log(`published ${topic}`);
      published.push(topic);
      happened.emit('published');
    },
  }),
  OutboxPgModule.forRoot({ pool }),
  SchedulerCronerModule,
  OutboxSchedulerModule.forRoot({ schedule: '*/1 * * * * *' }),
  // A sweep a day is enough (`0 3 * * *`, the default); here it must not take until three in the morning.
  OutboxRetentionModule.forRoot({
    retentionMs: 7 * DAY_MS,
    schedule: '*/1 * * * * *',
    onPurged: (report) => happened.emit('purged', report),
  }),
]);
await app.get(OutboxSchema).ensure();
const store = app.get(OutboxStore);

const [old = '', dead = ''] = await store.enqueue([
  { topic: 'old.dispatched', payload: {} },
  { topic: 'old.dead', payload: {} },
]);
await store.markDispatched([old]);
await store.markDead(dead, 'poison');
await pool.query(`
  update outbox set
    dispatched_at = dispatched_at - interval '8 days', dead_at = dead_at - interval '8 days'`);
await store.enqueue({ topic: 'order.paid', payload: {} });

const both = Promise.all([once(happened, 'purged'), once(happened, 'published')]);
await app.start();
for (const { name, schedule } of app.get(Scheduler).plan()) console.log(`planned ${name} ${schedule}`);
const [[report]] = await both;
await app.stop();

const left = (await store.peek({}, 10)).map(({ topic }) => topic);
await pool.end();
await database.close();

assert.deepEqual(published, ['order.paid']);
assert.deepEqual(report, { dispatched: 1, dead: 0, processed: 0 });
assert.deepEqual(left.toSorted(), ['old.dead', 'order.paid']);
console.log(
  'The old dispatched row was swept; the fresh one stays, and so does the dead one until somebody acts.',
);
