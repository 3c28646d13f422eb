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
  test.each(['SIGTERM', 'SIGINT'])(
    'stops the application at %s, with the grace it was given',
    async (signal) => {
      const { app, stops, source, listeners } = recorded();
      const done = stopAtSignal(source, app, { graceMs: 25_000 });
      expect(stops).toEqual([]);
      source.emit(signal, signal);
      await done;
      expect(stops).toEqual([{ graceMs: 25_000 }]);
      expect(listeners()).toBe(0);
    },
  );

  test('leaves the grace to the application unless it is given one', async () => {
    const { app, stops, source } = recorded();
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    await done;
    expect(stops).toEqual([{}]);
  });

  test('hears a signal that arrives before anybody awaits it', async () => {
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

  test('throws what the stop throws', async () => {
    const { app, source, listeners } = recorded(() => Promise.reject(new Error('the pool is stuck')));
    const done = stopAtSignal(source, app);
    source.emit('SIGTERM', 'SIGTERM');
    await expect(done).rejects.toThrow('the pool is stuck');
    expect(listeners()).toBe(0);
  });

  test('refuses a bad grace at once, not when the signal comes', async () => {
    const { app, source, listeners } = recorded();
    await expect(stopAtSignal(source, app, { graceMs: -1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(listeners()).toBe(0);
  });
});
