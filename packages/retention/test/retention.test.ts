import {
  composeModules,
  type Module,
  OutboxModule,
  OutboxStore,
  type ProcessedMessages,
} from '@postcommit/core';
import { OutboxRetentionJob, OutboxRetentionModule, type PurgeReport } from '@postcommit/retention';
import {
  OutboxSchedulerModule,
  ScheduledJobsPool,
  Scheduler,
  SchedulerCronerModule,
  SchedulerEvents,
} from '@postcommit/scheduler';
import { MemoryOutboxStore, MemoryTable, OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';

const DAY_MS = 24 * 60 * 60_000;
const entry = { topic: 'order.paid', payload: {} };

afterEach(() => {
  vi.useRealTimers();
});

function outbox(table = new MemoryTable(new VirtualClock())): Module[] {
  return [OutboxModule.forRoot({ publisher: async () => {} }), OutboxMemoryModule.forRoot({ table })];
}

/** Three dispatched rows and a dead one, all eight days old. */
async function oldRows(): Promise<{ store: MemoryOutboxStore }> {
  const clock = new VirtualClock();
  const store = new MemoryOutboxStore({ table: new MemoryTable(clock) });
  const [dead = '', ...dispatched] = await store.enqueue([entry, entry, entry, entry]);
  await store.markDispatched(dispatched);
  await store.markDead(dead, 'gone');
  await clock.advance(8 * DAY_MS);
  return { store };
}

describe('OutboxRetentionModule', () => {
  test('contributes its job with the documented defaults', () => {
    const app = composeModules([...outbox(), SchedulerCronerModule, OutboxRetentionModule]);
    expect(app.get(ScheduledJobsPool).items).toMatchObject([
      { name: 'outbox-retention', schedule: '0 3 * * *', timezone: 'UTC', lockTtlMs: 60_000 },
    ]);
  });

  test("the specification's line-up composes, dispatches and sweeps at its time", async () => {
    vi.useFakeTimers({ now: new Date('2026-01-09T02:59:58.500Z') });
    const clock = new VirtualClock(new Date('2026-01-01T00:00:00Z'));
    const purged: PurgeReport[] = [];
    const app = composeModules([
      ...outbox(new MemoryTable(clock)),
      SchedulerCronerModule,
      OutboxSchedulerModule,
      OutboxRetentionModule.forRoot({
        retentionMs: 7 * DAY_MS,
        schedule: '0 3 * * *',
        onPurged: (report) => purged.push(report),
      }),
    ]);
    onTestFinished(() => app.stop({ graceMs: 0 }));
    const store = app.get(OutboxStore);
    await store.markDispatched(await store.enqueue([entry, entry]));
    await clock.advance(7 * DAY_MS + 1);
    await app.start();
    const [id = ''] = await store.enqueue(entry);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(purged).toEqual([{ dispatched: 2, dead: 0, processed: 0 }]);
    expect(await store.peek({ state: 'dispatched' }, 10)).toMatchObject([{ id }]);
    expect(app.get(Scheduler).plan()).toMatchObject([
      { name: 'outbox-dispatch' },
      { name: 'outbox-retention', nextAt: new Date('2026-01-10T03:00:00Z') },
    ]);
  });

  test('without a scheduler the start names the module to add', async () => {
    await expect(composeModules([...outbox(), OutboxRetentionModule]).start()).rejects.toMatchObject({
      code: 'MISSING_BINDING',
      message: expect.stringMatching(/OutboxRetentionModule.*compose SchedulerCronerModule/),
    });
  });

  test.each([
    [{ retentionMs: 0 }, /retentionMs must be more than 0 milliseconds, got 0/],
    [{ retentionMs: -1 }, /got -1/],
    [{ retentionMs: Number.NaN }, /got NaN/],
    [{ retentionMs: Number.POSITIVE_INFINITY }, /leave the module out to keep rows forever/],
    [{ deadRetentionMs: 0 }, /deadRetentionMs must be more than 0/],
    [{ deadRetentionMs: -1 }, /deadRetentionMs/],
    [{ schedule: 'nightly' }, /schedule 'nightly'/],
    [{ timezone: 'Utopia' }, /timezone 'Utopia'/],
    [{ lockTtlMs: 0 }, /lockTtlMs/],
    [{ logger: { log: () => {} } as never }, /logger must have a method info, or be false/],
  ])('forRoot refuses %j', (options, message) => {
    expect(() => OutboxRetentionModule.forRoot(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(message) }),
    );
  });
});

describe('OutboxRetentionJob', () => {
  test('logs nothing if it deleted nothing', async () => {
    const onPurged = vi.fn();
    await new OutboxRetentionJob(new MemoryOutboxStore(), undefined, { onPurged }).execute();
    expect(onPurged).not.toHaveBeenCalled();
  });

  test('logs one line when it deleted rows, with counts and ages', async () => {
    const { store } = await oldRows();
    const logger = { info: vi.fn() };
    const options = { deadRetentionMs: 36 * 60 * 60_000, logger };
    const job = new OutboxRetentionJob(store, undefined, options);
    await job.execute();
    expect(logger.info.mock.calls).toEqual([
      ['outbox-retention: deleted 3 dispatched rows older than 7 days, 1 dead row older than 36 hours'],
    ]);
    await job.execute();
    expect(logger.info, 'nothing was left to delete').toHaveBeenCalledOnce();
  });

  test('logs to standard error by default, and nowhere with logger: false', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => written.mockRestore());
    await new OutboxRetentionJob(new MemoryOutboxStore()).execute();
    expect(written).not.toHaveBeenCalled();
    const first = await oldRows();
    await new OutboxRetentionJob(first.store).execute();
    expect(written.mock.calls).toEqual([['outbox-retention: deleted 3 dispatched rows older than 7 days\n']]);
    const second = await oldRows();
    await new OutboxRetentionJob(second.store, undefined, { logger: false }).execute();
    expect(written).toHaveBeenCalledOnce();
  });

  test('logs how many processed messages were deleted', async () => {
    const logger = { info: vi.fn() };
    const processed = { purge: async () => 2 } as unknown as ProcessedMessages;
    const options = { processedRetentionMs: 90_000, logger };
    await new OutboxRetentionJob(new MemoryOutboxStore(), processed, options).execute();
    expect(logger.info.mock.calls).toEqual([
      ['outbox-retention: deleted 2 processed messages older than 90 seconds'],
    ]);
  });

  test('reports what it deleted even if the second half of the sweep fails', async () => {
    const clock = new VirtualClock();
    const store = new MemoryOutboxStore({ table: new MemoryTable(clock) });
    await store.markDispatched(await store.enqueue(entry));
    await clock.advance(8 * DAY_MS);
    store.purgeDead = () => Promise.reject(new Error('connection reset'));
    const onPurged = vi.fn();
    const job = new OutboxRetentionJob(store, undefined, { deadRetentionMs: DAY_MS, onPurged });
    await expect(job.execute()).rejects.toThrow('connection reset');
    expect(onPurged).toHaveBeenCalledExactlyOnceWith({ dispatched: 1, dead: 0, processed: 0 });
  });

  test('an aborted sweep does not start with the dead rows', async () => {
    const store = new MemoryOutboxStore();
    store.purgeDead = vi.fn(async () => 0);
    await new OutboxRetentionJob(store, undefined, { deadRetentionMs: 1 }).execute({
      signal: AbortSignal.abort(),
    });
    expect(store.purgeDead).not.toHaveBeenCalled();
  });

  test('a failed sweep is reported by the scheduler, and the application continues', async () => {
    vi.useFakeTimers({ now: new Date('2026-01-01T02:59:59.500Z') });
    const app = composeModules([...outbox(), SchedulerCronerModule, OutboxRetentionModule]);
    onTestFinished(() => app.stop({ graceMs: 0 }));
    app.get(OutboxStore).purgeDispatched = () => Promise.reject(new Error('connection refused'));
    const failures: unknown[] = [];
    app.get(SchedulerEvents).on('failed', (told) => failures.push(told));
    await app.start();
    await vi.advanceTimersByTimeAsync(500);
    expect(failures).toMatchObject([{ job: 'outbox-retention', error: { message: 'connection refused' } }]);
  });
});

test('an age for processed messages needs a store that keeps them', () => {
  const make = (): unknown =>
    new OutboxRetentionJob(new MemoryOutboxStore(), undefined, { processedRetentionMs: 1 });
  expect(make).toThrow(/ProcessedMessages/);
});
