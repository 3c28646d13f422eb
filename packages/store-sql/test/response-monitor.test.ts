import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { ResponseMonitor, UNRESPONSIVE_AFTER_MS } from '../src/claim/response-monitor.js';

let clock: VirtualClock;
let monitor: ResponseMonitor;

beforeEach(() => {
  clock = new VirtualClock();
  monitor = new ResponseMonitor(clock);
});

describe('ResponseMonitor', () => {
  it('takes it for granted until something else is seen', () => {
    expect(monitor.isResponding).toBe(true);
  });

  it('passes on what it watches', async () => {
    expect(await monitor.watch(Promise.resolve(1))).toBe(1);
    await expect(monitor.watch(Promise.reject(new Error('cut off')))).rejects.toThrow('cut off');
  });

  it('sees that an answer is late, until it is there', async () => {
    let answer: () => void = () => {};
    const late = monitor.watch(
      new Promise<void>((resolve) => {
        answer = resolve;
      }),
    );
    await clock.advance(UNRESPONSIVE_AFTER_MS - 1);
    expect(monitor.isResponding).toBe(true);
    await clock.advance(1);
    expect(monitor.isResponding).toBe(false);
    // Others may be answered meanwhile: the late one still waits.
    await monitor.watch(Promise.resolve());
    expect(monitor.isResponding).toBe(false);
    answer();
    await late;
    expect(monitor.isResponding).toBe(true);
  });

  it('sees that the last answer was an error, until the next one', async () => {
    await monitor.watch(Promise.reject(new Error('cut off'))).catch(() => {});
    expect(monitor.isResponding).toBe(false);
    await monitor.watch(Promise.resolve());
    expect(monitor.isResponding).toBe(true);
  });
});
