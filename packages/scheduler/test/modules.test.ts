import {
  composeModules,
  contributeFactory,
  JobLock,
  Lifecycles,
  type Module,
  type OutboxApp,
  OutboxDispatcher,
  OutboxModule,
  OutboxStore,
} from '@postcommit/core';
import { OutboxDriver } from '@postcommit/core/internal';
import {
  OutboxSchedulerModule,
  type ScheduledJob,
  ScheduledJobsPool,
  Scheduler,
  SchedulerCronerModule,
  SchedulerEvents,
} from '@postcommit/scheduler';
import { OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { MemoryJobLock } from './memory-job-lock.js';
import { recordSignals } from './record-signals.js';

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00.250Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

/** As 002 writes its own poller: no lock, and a context that it does not care for. */
class OutboxPoller implements ScheduledJob {
  static readonly inject = [OutboxDispatcher] as const;
  readonly name = 'outbox-poller';
  readonly schedule = '*/1 * * * * *';
  readonly #dispatcher: OutboxDispatcher;

  constructor(dispatcher: OutboxDispatcher) {
    this.#dispatcher = dispatcher;
  }

  async execute() {
    await this.#dispatcher.dispatchPending();
  }
}

const outbox = (): Module[] => [OutboxModule.forRoot({ publisher: async () => {} }), OutboxMemoryModule];
const entry = { topic: 'order.paid', payload: {} };

function compose(
  modules: Module[],
  preferences: { provide: typeof JobLock; useValue: JobLock }[] = [],
): OutboxApp {
  const app = composeModules(modules, { preferences });
  onTestFinished(() => app.stop({ graceMs: 0 }));
  return app;
}

describe('OutboxSchedulerModule', () => {
  test.each([
    ['as a plain module', OutboxSchedulerModule],
    ['with options', OutboxSchedulerModule.forRoot({ schedule: '*/1 * * * * *', lockTtlMs: 30_000 })],
  ])('dispatches on schedule between start and stop, %s', async (_how, module) => {
    const app = compose([...outbox(), SchedulerCronerModule, module]);
    const store = app.get(OutboxStore);
    await store.enqueue(entry);
    await app.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 0 });
    await app.stop();
    expect(vi.getTimerCount()).toBe(0);
    await store.enqueue(entry);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await store.count()).toMatchObject({ pending: 1 });
  });

  test('declares that it drives the dispatcher, so the worker does not', () => {
    const app = compose([...outbox(), SchedulerCronerModule, OutboxSchedulerModule]);
    expect(app.get(OutboxDriver).name).toBe('OutboxSchedulerModule');
    expect(app.get(Scheduler).plan()).toMatchObject([{ name: 'outbox-dispatch', timezone: 'UTC' }]);
  });

  test('without a scheduler the start names the module to add', async () => {
    const started = vi.fn();
    const other = {
      name: 'other',
      contributes: [{ to: Lifecycles, useValue: { name: 'other', start: started, stop: () => {} } }],
    };
    const app = compose([other, ...outbox(), OutboxSchedulerModule]);
    await expect(app.start()).rejects.toMatchObject({
      code: 'MISSING_BINDING',
      message: expect.stringMatching(
        /OutboxSchedulerModule.*compose SchedulerCronerModule of @postcommit\/scheduler/,
      ),
    });
    expect(started).not.toHaveBeenCalled();
  });

  test.each([
    [{ schedule: 'often' }, /schedule 'often'/],
    [{ timezone: 'Berlin' }, /timezone 'Berlin'/],
    [{ lockTtlMs: 0 }, /lockTtlMs/],
    [{ limit: 0 }, /limit must be a whole number from 1, got 0/],
    [{ limit: 1.5 }, /limit/],
  ])('forRoot refuses %j', (options, message) => {
    expect(() => OutboxSchedulerModule.forRoot(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(message) }),
    );
  });
});

describe('SchedulerCronerModule', () => {
  test('runs a job of the application, written as in the specification', async () => {
    const poller: Module = {
      name: 'poller',
      contributes: [
        contributeFactory(
          ScheduledJobsPool,
          [OutboxDispatcher],
          (dispatcher) => new OutboxPoller(dispatcher),
        ),
      ],
    };
    const byClass: Module = {
      name: 'poller',
      contributes: [{ to: ScheduledJobsPool, useClass: OutboxPoller }],
    };
    for (const module of [poller, byClass]) {
      const app = compose([...outbox(), SchedulerCronerModule, module]);
      await app.get(OutboxStore).enqueue(entry);
      await app.start();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await app.get(OutboxStore).count()).toMatchObject({ dispatched: 1 });
      await app.stop();
    }
  });

  test('needs no outbox at all', async () => {
    const execute = vi.fn();
    const jobs = {
      name: 'jobs',
      contributes: [{ to: ScheduledJobsPool, useValue: { name: 'a', schedule: '* * * * * *', execute } }],
    };
    const app = compose([SchedulerCronerModule, jobs]);
    await app.start();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(execute).toHaveBeenCalledTimes(2);
  });

  test('uses the JobLock that is bound', async () => {
    const lock = new MemoryJobLock(new VirtualClock());
    const app = compose(
      [...outbox(), SchedulerCronerModule, OutboxSchedulerModule],
      [{ provide: JobLock, useValue: lock }],
    );
    const { told } = recordSignals(app.get(SchedulerEvents));
    lock.steal('outbox-dispatch');
    await app.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toMatchObject([{ signal: 'skipped', reason: 'locked', job: 'outbox-dispatch' }]);
  });

  test('refuses two jobs of one name before anything runs', async () => {
    const again = { ...OutboxSchedulerModule, provides: [] };
    const app = compose([...outbox(), SchedulerCronerModule, OutboxSchedulerModule, again]);
    await expect(app.start()).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('outbox-dispatch'),
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});
