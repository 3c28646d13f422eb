import { OutboxModule, OutboxStore } from '@postcommit/core';
import { OutboxRetentionJob, OutboxRetentionModule, type PurgeReport } from '@postcommit/retention';
import {
  OutboxSchedulerModule,
  ScheduledJobsPool,
  Scheduler,
  SchedulerCronerModule,
} from '@postcommit/scheduler';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { expect, it } from 'vitest';
import { shiftTimes } from '../../packages/store-sql/test/postgres-fixture.js';
import { compose } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';

const DAY_MS = 24 * 60 * 60_000;
const database = useOrdersDatabase();

function composeDocumented(onPurged?: (report: PurgeReport) => void) {
  const modules = [
    OutboxSchedulerModule, // dispatch loop
    OutboxRetentionModule.forRoot({
      retentionMs: 7 * 24 * 60 * 60_000, // 7 days
      schedule: '0 3 * * *', // 03:00 UTC daily
      onPurged,
    }),
  ];
  return compose([
    OutboxModule.forRoot({ publisher: async () => {} }),
    OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
    SchedulerCronerModule,
    ...modules,
  ]);
}

it('runs beside the dispatch loop, next at 03:00 UTC', async () => {
  const app = composeDocumented();
  await app.start();
  const plan = app.get(Scheduler).plan();
  expect(plan.map(({ name }) => name)).toEqual(['outbox-dispatch', 'outbox-retention']);
  expect(plan[1]?.nextAt?.toISOString()).toMatch(/T03:00:00\.000Z$/);
});

it('deletes dispatched rows past the window, keeps the others, and logs only if it deleted any', async () => {
  const purged: PurgeReport[] = [];
  const app = composeDocumented((report) => purged.push(report));
  const store = app.get(OutboxStore);
  const job = [...app.get(ScheduledJobsPool)].find((each) => each instanceof OutboxRetentionJob);
  const add = async (age: string): Promise<void> => {
    const topics = ['pending', 'dispatched', 'dead'].map((state) => `${state} ${age}`);
    const ids = await store.enqueue(topics.map((topic) => ({ topic, payload: {} })));
    await store.markDispatched([String(ids[1])]);
    await store.markDead(String(ids[2]), 'poison');
  };
  await add('old');
  await shiftTimes(database, 8 * DAY_MS);
  await add('young');
  await job?.execute();
  const left = (await store.peek({}, 20)).map(({ topic }) => topic);
  expect(left.sort()).toEqual(['dead old', 'dead young', 'dispatched young', 'pending old', 'pending young']);
  expect(purged).toEqual([{ dispatched: 1, dead: 0, processed: 0 }]);
  await job?.execute();
  expect(purged).toHaveLength(1);
});

it('defaults to 7 days, 03:00 UTC and a lock of 60 seconds', async () => {
  const app = compose([
    OutboxModule,
    OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
    SchedulerCronerModule,
    OutboxRetentionModule,
  ]);
  const [job] = app.get(ScheduledJobsPool);
  expect(job).toMatchObject({ schedule: '0 3 * * *', timezone: 'UTC', lockTtlMs: 60_000 });
  const store = app.get(OutboxStore);
  await store.markDispatched(await store.enqueue([{ topic: 'order.paid', payload: {} }]));
  await shiftTimes(database, 7 * DAY_MS - 60_000);
  await job?.execute({ signal: new AbortController().signal, scheduledAt: new Date() });
  expect(await store.count()).toMatchObject({ dispatched: 1 });
  await shiftTimes(database, 2 * 60_000);
  await job?.execute({ signal: new AbortController().signal, scheduledAt: new Date() });
  expect(await store.count()).toMatchObject({ total: 0 });
});
