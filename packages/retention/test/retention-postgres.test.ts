import { composeModules, type OutboxApp, OutboxModule, OutboxStore, stateOf } from '@postcommit/core';
import { OutboxRetentionModule, type OutboxRetentionOptions, type PurgeReport } from '@postcommit/retention';
import { ScheduledJobsPool, SchedulerCronerModule, SchedulerEvents } from '@postcommit/scheduler';
import { OutboxPgModule } from '@postcommit/store-pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { shiftTimes, usePostgres } from '../../store-sql/test/postgres-fixture.js';

const DAY_MS = 24 * 60 * 60_000;
const fixture = usePostgres();

beforeEach(async () => {
  await fixture.query('truncate outbox restart identity');
});

function compose(options: OutboxRetentionOptions): OutboxApp {
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async () => {} }),
    OutboxPgModule.forRoot({ pool: fixture.pool }),
    SchedulerCronerModule,
    OutboxRetentionModule.forRoot(options),
  ]);
  onTestFinished(() => app.stop());
  return app;
}

/** One row of each state, named after it and its age. */
async function addRows(store: OutboxStore, age: string): Promise<void> {
  const topics = ['pending', 'claimed', 'dispatched', 'dead'].map((state) => `${state} ${age}`);
  const ids = await store.enqueue(topics.map((topic) => ({ topic, payload: {} })));
  const [, claimed, dispatched, dead] = ids;
  await fixture.query(
    `update outbox set claim_token = 'x', claimed_at = now(), claimed_until = now() + interval '30 days' where id = $1`,
    [claimed],
  );
  await store.markDispatched([String(dispatched)]);
  await store.markDead(String(dead), 'no use');
}

async function sweep(app: OutboxApp): Promise<string[]> {
  for (const job of app.get(ScheduledJobsPool)) {
    await job.execute({ signal: new AbortController().signal, scheduledAt: new Date() });
  }
  const rows = await app.get(OutboxStore).peek({}, 100);
  expect(rows.every((row) => row.topic.startsWith(stateOf(row)) || row.topic.startsWith('claimed'))).toBe(
    true,
  );
  return rows.map(({ topic }) => topic).sort();
}

describe('a sweep on PostgreSQL', () => {
  test('deletes dispatched rows past the window, and neither pending nor dead nor younger ones', async () => {
    const purged: PurgeReport[] = [];
    const app = compose({ retentionMs: 7 * DAY_MS, onPurged: (report) => purged.push(report) });
    await addRows(app.get(OutboxStore), 'long ago');
    await shiftTimes(fixture, 365 * DAY_MS);
    await addRows(app.get(OutboxStore), 'just inside');
    await shiftTimes(fixture, 7 * DAY_MS - 60_000);
    await addRows(app.get(OutboxStore), 'today');
    expect(await sweep(app)).toEqual([
      'claimed just inside',
      'claimed long ago',
      'claimed today',
      'dead just inside',
      'dead long ago',
      'dead today',
      'dispatched just inside',
      'dispatched today',
      'pending just inside',
      'pending long ago',
      'pending today',
    ]);
    expect(purged).toEqual([{ dispatched: 1, dead: 0, processed: 0 }]);
  });

  test('deletes dead rows only past a separate age', async () => {
    const purged: PurgeReport[] = [];
    const app = compose({ deadRetentionMs: 30 * DAY_MS, onPurged: (report) => purged.push(report) });
    await addRows(app.get(OutboxStore), 'long ago');
    await shiftTimes(fixture, 10 * DAY_MS);
    await addRows(app.get(OutboxStore), 'ten days');
    await shiftTimes(fixture, 25 * DAY_MS);
    expect(await sweep(app)).toEqual([
      'claimed long ago',
      'claimed ten days',
      'dead ten days',
      'pending long ago',
      'pending ten days',
    ]);
    expect(purged).toEqual([{ dispatched: 2, dead: 1, processed: 0 }]);
  });

  test('deletes processed messages only if an age for them is configured', async () => {
    const remembered = async () =>
      (await fixture.query('select row_id from outbox_processed order by row_id')).map(
        ({ row_id }) => row_id,
      );
    await fixture.query('truncate outbox_processed');
    await fixture.query(
      `insert into outbox_processed (consumer, row_id, processed_at) values
         ('mailer', 'old', now() - interval '31 days'), ('mailer', 'young', now() - interval '29 days')`,
    );
    await sweep(compose({}));
    expect(await remembered()).toEqual(['old', 'young']);
    const purged: PurgeReport[] = [];
    await sweep(compose({ processedRetentionMs: 30 * DAY_MS, onPurged: (report) => purged.push(report) }));
    expect(await remembered()).toEqual(['young']);
    expect(purged).toEqual([{ dispatched: 0, dead: 0, processed: 1 }]);
  });

  test('counts from the dispatch, not from the enqueue', async () => {
    const app = compose({ retentionMs: DAY_MS });
    const store = app.get(OutboxStore);
    const ids = await store.enqueue({ topic: 'dispatched late', payload: {} });
    await shiftTimes(fixture, 30 * DAY_MS);
    await store.markDispatched(ids);
    expect(await sweep(app)).toEqual(['dispatched late']);
  });

  test('runs on schedule, under its lock in the database', async () => {
    let tell = (_report: PurgeReport): void => {};
    const purged = new Promise<PurgeReport>((resolve) => {
      tell = resolve;
    });
    const app = compose({ retentionMs: DAY_MS, schedule: '* * * * * *', onPurged: (report) => tell(report) });
    const store = app.get(OutboxStore);
    await store.markDispatched(await store.enqueue({ topic: 'dispatched', payload: {} }));
    await shiftTimes(fixture, 2 * DAY_MS);
    const finished = new Promise((resolve) => app.get(SchedulerEvents).on('finished', resolve));
    await app.start();
    expect(await purged).toEqual({ dispatched: 1, dead: 0, processed: 0 });
    await finished;
    await app.stop();
    expect(await fixture.query('select name from outbox_locks')).toEqual([{ name: 'outbox-retention' }]);
  });
});
