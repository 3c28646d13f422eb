import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { StopOptions } from '../../src/modules/lifecycle.js';
import { type SignalSource, stopAtSignal } from '../../src/modules/run-until-signal.js';
import { deferred } from '../outbox-fixture.js';

/** An application that records its stops, and the process around it. */
function recorded(stop: () => Promise<void> = async () => {}) {
  const stops: StopOptions[] = [];
  const source = new EventEmitter();
  const app = {
    stop: (options: StopOptions = {}): Promise<void> => {
      stops.push(options);
      return stop();
    },
  };
  const listeners = (): number => source.listenerCount('SIGTERM') + source.listenerCount('SIGINT');
  return { app, stops, source: source as SignalSource & EventEmitter, listeners };
}

describe('runUntilSignal', () => {
  test.each(['SIGTERM', 'SIGINT'])('stops the application at %s, with the given grace', async (signal) => {
    const { app, stops, source, listeners } = recorded();
    const done = stopAtSignal(source, app, { graceMs: 25_000 });
    expect(stops).toEqual([]);
    source.emit(signal, signal);
    await done;
    expect(stops).toEqual([{ graceMs: 25_000 }]);
    expect(listeners()).toBe(0);
  });

  test('leaves the grace to the application by default', async () => {
    const { app, stops, source } = recorded();
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    await done;
    expect(stops).toEqual([{}]);
  });

  test('handles a signal that arrives before it is awaited', async () => {
    const { app, stops, source } = recorded();
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    await new Promise((resolve) => setImmediate(resolve));
    expect(stops).toHaveLength(1);
    await done;
  });

  test('leaves a second signal to the default action, and does not stop twice', async () => {
    const stopped = deferred();
    const { app, stops, source, listeners } = recorded(() => stopped.promise);
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    expect(listeners()).toBe(0);
    source.emit('SIGINT', 'SIGINT');
    stopped.resolve();
    await done;
    expect(stops).toHaveLength(1);
  });

  test('throws the error of the stop', async () => {
    const { app, source, listeners } = recorded(() => Promise.reject(new Error('the pool is stuck')));
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    await expect(done).rejects.toThrow('the pool is stuck');
    expect(listeners()).toBe(0);
  });

  test('rejects an invalid grace at once, not when the signal arrives', async () => {
    const { app, source, listeners } = recorded();
    await expect(stopAtSignal(source, app, { graceMs: -1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(listeners()).toBe(0);
  });

  test('resolves with the signal that ended it', async () => {
    const { app, source } = recorded();
    const done = stopAtSignal(source, app);
    source.emit('SIGINT', 'SIGINT');
    expect(await done).toBe('SIGINT');
  });

  test('stops without a signal when `until` resolves', async () => {
    const { app, stops, source, listeners } = recorded();
    const work = deferred();
    const done = stopAtSignal(source, app, { graceMs: 5, until: work.promise });
    expect(stops).toEqual([]);
    work.resolve();
    expect(await done).toBeUndefined();
    expect(stops).toEqual([{ graceMs: 5 }]);
    expect(listeners()).toBe(0);
  });

  test('stops, then throws, when `until` rejects', async () => {
    const { app, stops, source, listeners } = recorded();
    const until = Promise.reject(new Error('the import failed'));
    await expect(stopAtSignal(source, app, { until })).rejects.toThrow('the import failed');
    expect(stops).toHaveLength(1);
    expect(listeners()).toBe(0);
  });

  test('a signal wins over an `until` that rejects later', async () => {
    const { app, stops, source } = recorded();
    const work = deferred();
    const done = stopAtSignal(source, app, { until: work.promise });
    source.emit('SIGTERM', 'SIGTERM');
    work.reject(new Error('cut off by the stop'));
    expect(await done).toBe('SIGTERM');
    expect(stops).toHaveLength(1);
  });

  test('refuses an unknown option at once', async () => {
    const { app, source, listeners } = recorded();
    const odd = { graceMS: 5 } as object;
    await expect(stopAtSignal(source, app, odd)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining("'graceMs'?"),
    });
    expect(listeners()).toBe(0);
  });
});
