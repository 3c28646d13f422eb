import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { composeModules } from '../../src/modules/compose-modules.js';
import { type Lifecycle, Lifecycles } from '../../src/modules/lifecycle.js';
import type { Module } from '../../src/modules/module.js';
import { deferred, refusal } from '../outbox-fixture.js';

const steps: string[] = [];

function part(name: string, overrides: Partial<Lifecycle> = {}): Module {
  const useValue: Lifecycle = {
    name,
    start: () => void steps.push(`start ${name}`),
    stop: () => void steps.push(`stop ${name}`),
    ...overrides,
  };
  return { name, contributes: [{ to: Lifecycles, useValue }] };
}

/** Whether it has settled, and how, without waiting for it. */
async function outcomeOf(promise: Promise<void>): Promise<unknown> {
  return Promise.race([
    promise.then(
      () => 'resolved',
      (error: unknown) => error,
    ),
    vi.advanceTimersByTimeAsync(0).then(() => 'pending'),
  ]);
}

beforeEach(() => {
  steps.length = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const abandoned = refusal(
  'START_ABANDONED',
  'database had not started when the 500 ms grace period was over',
);

describe('a stop during a start that hangs', () => {
  test('ends after its grace: started parts are stopped, and both calls name the part that hangs', async () => {
    const app = composeModules([
      part('connection'),
      part('database', { start: () => new Promise(() => {}) }),
      part('worker'),
    ]);
    const starting = app.start().catch((error: unknown) => error);
    const stopping = app.stop({ graceMs: 500 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(499);
    expect(steps).toEqual(['start connection']);
    await vi.advanceTimersByTimeAsync(1);
    expect(steps).toEqual(['start connection', 'stop connection']);
    expect(await stopping).toEqual(abandoned);
    expect(await starting).toEqual(abandoned);
  });

  test('waits for 10 s by default', async () => {
    const app = composeModules([part('database', { start: () => new Promise(() => {}) })]);
    app.start().catch(() => {});
    const stopping = app.stop();
    stopping.catch(() => {});
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await outcomeOf(stopping)).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcomeOf(stopping)).toMatchObject({ code: 'START_ABANDONED' });
  });

  test('stops a part that starts late, and starts nothing after it', async () => {
    const answer = deferred();
    const app = composeModules([part('database', { start: () => answer.promise }), part('worker')]);
    app.start().catch(() => {});
    const stopping = expect(app.stop({ graceMs: 500 })).rejects.toThrow(abandoned);
    await vi.advanceTimersByTimeAsync(500);
    await stopping;
    expect(steps).toEqual([]);
    answer.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(steps).toEqual(['stop database']);
  });

  test('a start that fails late is harmless', async () => {
    const answer = deferred();
    const app = composeModules([part('database', { start: () => answer.promise })]);
    app.start().catch(() => {});
    const stopping = expect(app.stop({ graceMs: 0 })).rejects.toThrow('database had not started');
    await vi.advanceTimersByTimeAsync(0);
    await stopping;
    answer.reject(new Error('connection refused'));
    // An unhandled rejection fails the run.
    await vi.advanceTimersByTimeAsync(0);
    expect(steps).toEqual([]);
  });

  test('a late part that does not stop is a warning', async () => {
    const answer = deferred();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const stop = (): never => {
      throw new Error('socket is busy: password=hunter2');
    };
    const app = composeModules([part('database', { start: () => answer.promise, stop })]);
    app.start().catch(() => {});
    const stopping = expect(app.stop({ graceMs: 0 })).rejects.toThrow('database had not started');
    await vi.advanceTimersByTimeAsync(0);
    await stopping;
    answer.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(warn.mock.calls).toEqual([
      [
        'database started after the stop and could not be stopped again: socket is busy: password=***',
        'OutboxWarning',
      ],
    ]);
  });

  test('does not wait for a part that hangs in its stop as well', async () => {
    const app = composeModules([
      part('pool', { stop: () => new Promise(() => {}) }),
      part('database', { start: () => new Promise(() => {}) }),
    ]);
    app.start().catch(() => {});
    const stopping = expect(app.stop({ graceMs: 500 })).rejects.toThrow(abandoned);
    await vi.advanceTimersByTimeAsync(1_500);
    await stopping;
  });

  test('names the parts that failed to stop, too', async () => {
    const stop = (): never => {
      throw new Error('socket is busy');
    };
    const app = composeModules([
      part('pool', { stop }),
      part('database', { start: () => new Promise(() => {}) }),
    ]);
    app.start().catch(() => {});
    const stopping = app.stop({ graceMs: 500 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(500);
    expect(await stopping).toMatchObject({ code: 'START_ABANDONED', cause: { message: 'socket is busy' } });
  });

  test('the application can be started again, and the old start does not touch the new one', async () => {
    const answers = [deferred(), deferred()];
    let starts = 0;
    const app = composeModules([
      part('database', { start: () => answers[starts++]?.promise }),
      part('worker'),
    ]);
    app.start().catch(() => {});
    const stopping = expect(app.stop({ graceMs: 0 })).rejects.toThrow('database had not started');
    await vi.advanceTimersByTimeAsync(0);
    await stopping;
    const again = app.start();
    answers[1]?.resolve();
    await again;
    answers[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(steps).toEqual(['start worker']);
    await app.stop();
    expect(steps).toEqual(['start worker', 'stop worker', 'stop database']);
  });
});

test.each([-1, Number.NaN, 2 ** 31])('graceMs %s is rejected before anything is stopped', async (graceMs) => {
  const app = composeModules([part('a')]);
  await app.start();
  await expect(app.stop({ graceMs })).rejects.toThrow(refusal('INVALID_ARGUMENT', 'graceMs'));
  expect(steps).toEqual(['start a']);
  await app.stop();
  expect(steps).toEqual(['start a', 'stop a']);
});
