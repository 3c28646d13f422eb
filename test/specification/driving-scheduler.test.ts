import { OutboxModule, type OutboxRow, OutboxStore, OutboxWorker } from '@postcommit/core';
import {
  OutboxDispatchJob,
  OutboxSchedulerModule,
  ScheduledJobsPool,
  SchedulerCronerModule,
  type SchedulerEventMap,
  SchedulerEvents,
} from '@postcommit/scheduler';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { expect, it } from 'vitest';
import { compose, nextBatch } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';

const database = useOrdersDatabase();
const entry = { topic: 'order.paid', payload: { id: '7' } };

function composeDocumented(publisher: (row: OutboxRow) => Promise<void>) {
  const modules = [
    OutboxModule.forRoot({ publisher }),
    OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
    SchedulerCronerModule,
    OutboxSchedulerModule.forRoot({
      schedule: '*/1 * * * * *', // every second
      lockTtlMs: 30_000,
    }),
  ];
  return compose(modules);
}

it('every second, croner dispatches due rows; no worker runs beside it', async () => {
  const published: string[] = [];
  const app = composeDocumented(async ({ topic }) => void published.push(topic));
  const batch = nextBatch(app);
  await app.get(OutboxStore).enqueue([entry]);
  await app.start();
  expect(await app.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
  expect(await batch).toMatchObject({ fetched: 1, dispatched: 1 });
  expect(published).toEqual(['order.paid']);
});

it('contributes an OutboxDispatchJob to ScheduledJobsPool', () => {
  const app = composeDocumented(async () => {});
  const jobs = [...app.get(ScheduledJobsPool)];
  expect(jobs).toEqual([expect.any(OutboxDispatchJob)]);
  expect(jobs).toMatchObject([{ schedule: '*/1 * * * * *', lockTtlMs: 30_000 }]);
});

it('one of two instances runs a tick; the other does not get the lock', async () => {
  const tried: string[] = [];
  // The first publish does not end before the other instance was refused.
  let letGo = (): void => {};
  const refused = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const publisher = async ({ id }: OutboxRow): Promise<void> => {
    tried.push(id);
    await refused;
  };
  const apps = [composeDocumented(publisher), composeDocumented(publisher)];
  const skipped: SchedulerEventMap['skipped'][] = [];
  for (const app of apps) {
    app.get(SchedulerEvents).on('skipped', (told) => {
      skipped.push(told);
      if (told.reason === 'locked') letGo();
    });
  }
  const batches = apps.map(nextBatch);
  const ids = await apps[0]?.get(OutboxStore).enqueue([entry]);
  await Promise.all(apps.map((app) => app.start()));
  expect(await Promise.race(batches)).toMatchObject({ dispatched: 1 });
  expect(tried).toEqual(ids);
  expect(skipped).toContainEqual(expect.objectContaining({ reason: 'locked', job: 'outbox-dispatch' }));
});
