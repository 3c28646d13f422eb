import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';

describe('VirtualClock', () => {
  test('stands still until it is advanced', async () => {
    const clock = new VirtualClock(new Date(5_000));
    expect([clock.now(), clock.monotonicMs()]).toEqual([5_000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonicMs()]).toEqual([5_250, 250]);
  });

  test('starts at the same time in every run', () => {
    expect(new VirtualClock().now()).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  test('runs the timers that fall due on the way, in order, each at its own time', async () => {
    const clock = new VirtualClock();
    const calls: string[] = [];
    const record = (name: string) => () => void calls.push(`${name} ${clock.monotonicMs()}`);
    clock.schedule(30, record('late'));
    clock.schedule(10, record('early'));
    clock.schedule(10, record('early too'));
    clock.schedule(31, record('never'));
    await clock.advance(30);
    expect(calls).toEqual(['early 10', 'early too 10', 'late 30']);
    expect(clock.monotonicMs()).toBe(30);
  });

  test('runs a timer once', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    clock.schedule(10, () => {
      calls += 1;
    });
    await clock.advance(10);
    await clock.advance(100);
    expect(calls).toBe(1);
  });

  test('a cancelled timer never runs', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    const cancel = clock.schedule(10, () => {
      calls += 1;
    });
    cancel();
    await clock.advance(100);
    expect(calls).toBe(0);
  });

  test('a timer in the past runs now, and time does not go back', async () => {
    const clock = new VirtualClock();
    await clock.advance(50);
    const calls: number[] = [];
    clock.schedule(-20, () => calls.push(clock.monotonicMs()));
    await clock.advance(0);
    expect(calls).toEqual([50]);
  });

  test('work started by a timer proceeds before the next timer, and can set timers on the way', async () => {
    const clock = new VirtualClock();
    const calls: string[] = [];
    clock.schedule(10, async () => {
      for (let step = 0; step < 5; step++) await Promise.resolve();
      calls.push(`first ${clock.monotonicMs()}`);
      clock.schedule(5, () => calls.push(`inner ${clock.monotonicMs()}`));
    });
    clock.schedule(20, () => calls.push(`second ${clock.monotonicMs()}`));
    await clock.advance(20);
    expect(calls).toEqual(['first 10', 'inner 15', 'second 20']);
  });
});
