import { composeModules, type OutboxApp, OutboxModule, type OutboxRow, OutboxStore } from '@postcommit/core';
import {
  OutboxSchedulerModule,
  ScheduledJobsPool,
  SchedulerCronerModule,
  SchedulerEvents,
} from '@postcommit/scheduler';
import { OutboxPgModule } from '@postcommit/store-pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
const entries = (count: number, topic: string) =>
  Array.from({ length: count }, () => ({ topic, payload: {} }));

beforeEach(async () => {
  await fixture.query('truncate outbox, outbox_locks');
});

function compose(publisher: (row: OutboxRow) => Promise<void>): OutboxApp {
  const app = composeModules([
    OutboxModule.forRoot({ publisher, batchSize: 10 }),
    OutboxPgModule.forRoot({ pool: fixture.pool }),
    SchedulerCronerModule,
    OutboxSchedulerModule,
  ]);
  onTestFinished(() => app.stop());
  return app;
}

describe('the dispatch job on PostgreSQL', () => {
  test.each([
    [5, 1],
    [25, 2],
  ])(
    'a tick attempts each of %d failing rows, at most %d times, and everything behind them',
    async (bad, most) => {
      const app = compose(async ({ topic }) => {
        if (topic === 'bad') throw new Error('rejected');
      });
      const store = app.get(OutboxStore);
      await store.enqueue([...entries(bad, 'bad'), ...entries(25, 'good')]);
      const [job] = app.get(ScheduledJobsPool);
      for (const tick of [1, 2, 3]) {
        await job?.execute({ signal: new AbortController().signal, scheduledAt: new Date() });
        expect(await store.count()).toMatchObject({ pending: bad, dispatched: 25 });
        const attempts = (await store.peek({ state: 'pending' }, 100)).map((row) => row.attempts);
        expect(Math.min(...attempts)).toBeGreaterThanOrEqual(tick);
        expect(Math.max(...attempts)).toBeLessThanOrEqual(tick * most);
      }
    },
  );

  test('two applications dispatch in turn, and together lose and repeat nothing', async () => {
    const published: string[] = [];
    const publisher = async ({ id }: OutboxRow): Promise<void> => void published.push(id);
    const apps = [compose(publisher), compose(publisher)];
    const [store] = apps.map((app) => app.get(OutboxStore));
    const ids = await store?.enqueue(entries(200, 'good'));
    const dealtWith = apps.map(
      (app) =>
        new Promise<void>((resolve) => {
          app.get(SchedulerEvents).on('finished', () => resolve());
          app.get(SchedulerEvents).on('skipped', () => resolve());
        }),
    );
    await Promise.all(apps.map((app) => app.start()));
    await Promise.all(dealtWith);
    await Promise.all(apps.map((app) => app.stop()));
    expect(published.sort()).toEqual(ids?.sort());
  });
});
