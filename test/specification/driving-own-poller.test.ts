import { Inject, Injectable, OutboxDispatcher, OutboxModule, OutboxStore } from '@postcommit/core';
import type { ScheduledJob } from '@postcommit/scheduler';
import { ScheduledJobsPool, SchedulerCronerModule } from '@postcommit/scheduler';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { expect, it } from 'vitest';
import { compose, nextBatch } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';

@Injectable()
class OutboxPoller implements ScheduledJob {
  readonly name = 'outbox-poller';
  readonly schedule = '*/1 * * * * *';

  constructor(@Inject(OutboxDispatcher) private readonly dispatcher: OutboxDispatcher) {}

  async execute() {
    await this.dispatcher.dispatchPending();
  }
}

const database = useOrdersDatabase();

function composeDocumented() {
  const published: unknown[] = [];
  const app = compose(
    [
      // Otherwise `start` would run the worker too, and the test could not see which one dispatched.
      OutboxModule.forRoot({ worker: false, publisher: async ({ payload }) => published.push(payload) }),
      OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
      SchedulerCronerModule,
      { name: 'PollerModule', contributes: [{ to: ScheduledJobsPool, useExisting: OutboxPoller }] },
    ],
    { preferences: [{ provide: OutboxPoller, useClass: OutboxPoller }] },
  );
  return { app, published };
}

it('a custom job drives the dispatcher on a schedule', async () => {
  const { app, published } = composeDocumented();
  const batch = nextBatch(app);
  await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  await app.start();
  expect(await batch).toMatchObject({ fetched: 1, dispatched: 1 });
  expect(published).toEqual([{ id: '7' }]);
});

it('or when a button is pressed', async () => {
  const { app, published } = composeDocumented();
  await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  await app.get(OutboxPoller).execute();
  expect(published).toEqual([{ id: '7' }]);
  expect(await app.get(OutboxStore).count()).toMatchObject({ pending: 0, dispatched: 1 });
});

it('nothing is dispatched before start, or with worker: false', async () => {
  const app = compose([
    OutboxModule.forRoot({ worker: false, publisher: () => Promise.reject(new Error('nobody asked')) }),
    OutboxTypeormModule.forRoot({ dataSource: database.dataSource }),
  ]);
  await app.get(OutboxStore).enqueue([{ topic: 'order.paid', payload: { id: '7' } }]);
  await app.start();
  await app.stop();
  expect(await app.get(OutboxStore).peek({}, 20)).toMatchObject([{ attempts: 0 }]);
});
