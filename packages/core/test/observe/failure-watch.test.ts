import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { FailureWatch } from '../../src/observe/failure-watch.js';
import { listen, rowWith } from '../outbox-fixture.js';

const WINDOW_MS = 60_000;

function watch(threshold: number) {
  const clock = new VirtualClock();
  const events = new DispatchEvents();
  const heard = listen(events, 'failures');
  new FailureWatch(events, { threshold, windowMs: WINDOW_MS }, clock);
  return {
    clock,
    fail: (topic = 'order.paid') =>
      events.emit('failed', { row: rowWith({ topic }), error: 'no', delayMs: 0 }),
    die: (topic = 'order.paid') =>
      events.emit('dead', { row: rowWith({ topic }), error: 'no', reason: 'exhausted' }),
    /** Returns and clears the emitted events. */
    told: () => heard.splice(0).map(({ told }) => told),
  };
}

const alert = (count: number, threshold: number, topic = 'order.paid') => ({
  topic,
  count,
  windowMs: WINDOW_MS,
  threshold,
});

describe('failures of a topic', () => {
  test('are reported once when they exceed the threshold', async () => {
    const { clock, fail, die, told } = watch(3);
    fail();
    await clock.advance(20_000);
    die();
    fail();
    expect(told()).toEqual([]);
    fail();
    expect(told()).toEqual([alert(4, 3)]);
    for (let more = 0; more < 100; more++) fail();
    expect(told()).toEqual([]);
  });

  test('are reported again only after there were fewer', async () => {
    const { clock, fail, told } = watch(2);
    for (let count = 0; count < 3; count++) fail();
    expect(told()).toHaveLength(1);
    for (let steady = 0; steady < 20; steady++) {
      await clock.advance(10_000);
      fail();
    }
    expect(told(), 'it never fell below').toEqual([]);
    await clock.advance(WINDOW_MS);
    for (let count = 0; count < 2; count++) fail();
    expect(told()).toEqual([]);
    fail();
    expect(told()).toEqual([alert(3, 2)]);
  });

  test('count for no longer than the window, whatever their rate', async () => {
    const { clock, fail, told } = watch(3);
    for (let slow = 0; slow < 50; slow++) {
      fail();
      await clock.advance(WINDOW_MS / 3);
    }
    expect(told()).toEqual([]);
  });

  test('are counted for each topic', () => {
    const { fail, told } = watch(1);
    fail('a');
    fail('b');
    expect(told()).toEqual([]);
    fail('b');
    expect(told()).toEqual([alert(2, 1, 'b')]);
    fail('a');
    expect(told()).toEqual([alert(2, 1, 'a')]);
  });

  test('are forgotten for the topic that failed longest ago, beyond a thousand topics', () => {
    const { fail, told } = watch(1);
    for (let topic = 0; topic <= 1_000; topic++) fail(`t${topic}`);
    fail('t0');
    expect(told(), 'forgotten').toEqual([]);
    fail('t1000');
    fail('t0');
    expect(told()).toEqual([alert(2, 1, 't1000'), alert(2, 1, 't0')]);
  });
});
