import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { ResponseMonitor, UNRESPONSIVE_AFTER_MS } from '../src/claim/claim-runner.js';

let clock: VirtualClock;
let monitor: ResponseMonitor;

beforeEach(() => {
  clock = new VirtualClock();
  monitor = new ResponseMonitor(clock);
});

describe('ResponseMonitor', () => {
  it('assumes that the database responds until it sees otherwise', () => {
    expect(monitor.isResponding).toBe(true);
  });

  it('passes on the results of what it watches', async () => {
    expect(await monitor.watch(Promise.resolve(1))).toBe(1);
    await expect(monitor.watch(Promise.reject(new Error('cut off')))).rejects.toThrow('cut off');
  });

  it('sees that a response is late, until it arrives', async () => {
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

  it('sees that the last response was an error, until the next one', async () => {
    await monitor.watch(Promise.reject(new Error('cut off'))).catch(() => {});
    expect(monitor.isResponding).toBe(false);
    await monitor.watch(Promise.resolve());
    expect(monitor.isResponding).toBe(true);
  });
});
