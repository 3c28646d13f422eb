import { CronerScheduler, type JobContext, type ScheduledJob } from '@postcommit/scheduler';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createGate } from './gate.js';
import { recordSignals } from './record-signals.js';

// croner reads Date and waits by setTimeout: with both faked, a year of ticks takes no time.
beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00.250Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

function job(schedule: string, options: Partial<ScheduledJob> = {}): { job: ScheduledJob; ticks: string[] } {
  const ticks: string[] = [];
  const execute = ({ scheduledAt }: JobContext): void => void ticks.push(scheduledAt.toISOString());
  return { job: { name: 'job', schedule, execute, ...options }, ticks };
}

function start(...jobs: ScheduledJob[]): CronerScheduler {
  const scheduler = new CronerScheduler(jobs);
  scheduler.start();
  onTestFinished(() => scheduler.stop({ graceMs: 0 }));
  return scheduler;
}

describe('the clock', () => {
  test('fires to the second, with the time that the schedule names', async () => {
    const { job: every, ticks } = job('*/2 * * * * *');
    start(every);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(ticks).toEqual([
      '2026-01-01T00:00:02.000Z',
      '2026-01-01T00:00:04.000Z',
      '2026-01-01T00:00:06.000Z',
    ]);
  });

  test('reads five fields as minutes, in UTC unless a time zone is set', async () => {
    vi.stubEnv('TZ', 'America/New_York');
    onTestFinished(() => void vi.unstubAllEnvs());
    const daily = job('0 3 * * *', { name: 'utc' });
    const berlin = job('0 3 * * *', { name: 'berlin', timezone: 'Europe/Berlin' });
    start(daily.job, berlin.job);
    await vi.advanceTimersByTimeAsync(4 * 3_600_000);
    expect(daily.ticks).toEqual(['2026-01-01T03:00:00.000Z']);
    expect(berlin.ticks).toEqual(['2026-01-01T02:00:00.000Z']);
  });

  test('follows summer time', async () => {
    vi.setSystemTime(new Date('2026-03-28T07:30:00Z'));
    const { job: nine, ticks } = job('0 9 * * *', { timezone: 'Europe/Berlin' });
    start(nine);
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    expect(ticks).toEqual(['2026-03-28T08:00:00.000Z', '2026-03-29T07:00:00.000Z']);
  });

  test('follows the wall clock, even if the machine slept meanwhile', async () => {
    const { job: yearly, ticks } = job('0 0 1 12 *');
    start(yearly);
    vi.setSystemTime(new Date('2026-11-30T23:59:30Z'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ticks).toEqual(['2026-12-01T00:00:00.000Z']);
  });

  test('only the latest of the ticks that a stalled process missed is run', async () => {
    const { job: every, ticks } = job('* * * * * *');
    start(every);
    vi.setSystemTime(new Date('2026-01-01T00:00:42.600Z'));
    await vi.advanceTimersByTimeAsync(750);
    expect(ticks).toEqual(['2026-01-01T00:00:43.000Z']);
  });

  test('skips ticks while the job is running, and continues after it', async () => {
    const gate = createGate();
    const { events, told } = recordSignals();
    const scheduler = new CronerScheduler([job('* * * * * *', { execute: () => gate.passed }).job], {
      events,
    });
    scheduler.start();
    onTestFinished(() => scheduler.stop());
    await vi.advanceTimersByTimeAsync(3_000);
    expect(scheduler.plan()).toMatchObject([{ isRunning: true }]);
    gate.open();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told.map(({ signal }) => signal)).toEqual(['skipped', 'skipped', 'finished', 'finished']);
  });

  test('a job that fails or hangs does not delay another', async () => {
    const good = job('* * * * * *', { name: 'good' });
    const hanging = job('* * * * * *', { name: 'hanging', execute: () => new Promise(() => {}) });
    const bad = job('* * * * * *', { name: 'bad', execute: () => Promise.reject(new Error('boom')) });
    const { events, told } = recordSignals();
    const scheduler = new CronerScheduler([hanging.job, bad.job, good.job], { events });
    scheduler.start();
    onTestFinished(() => scheduler.stop({ graceMs: 0 }));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(good.ticks).toHaveLength(3);
    expect(told.filter(({ signal }) => signal === 'failed')).toHaveLength(3);
  });

  test('plan returns the next runs', () => {
    expect(new CronerScheduler([job('0 3 * * *').job]).plan()).toEqual([
      {
        name: 'job',
        schedule: '0 3 * * *',
        timezone: 'UTC',
        nextAt: new Date('2026-01-01T03:00:00Z'),
        isRunning: false,
      },
    ]);
  });
});

describe('stop', () => {
  test('leaves no timer, whether a job is idle, running or abandoned, and fires no more', async () => {
    const idle = job('* * * * * *', { name: 'idle' });
    const ending = job('* * * * * *', { name: 'ending', execute: ({ signal }) => aborted(signal) });
    const hanging = job('* * * * * *', { name: 'hanging', execute: () => new Promise(() => {}) });
    const { events, told } = recordSignals();
    const scheduler = new CronerScheduler([idle.job, ending.job, hanging.job], { events });
    scheduler.start();
    await vi.advanceTimersByTimeAsync(1_000);
    const stopped = scheduler.stop({ graceMs: 3_000 });
    await vi.advanceTimersByTimeAsync(3_000);
    await stopped;
    expect(vi.getTimerCount()).toBe(0);
    expect(told).toMatchObject([
      { signal: 'finished', job: 'idle' },
      { signal: 'finished', job: 'ending' },
      { signal: 'abandoned', job: 'hanging' },
    ]);
  });

  test('called by a job leaves no timer either', async () => {
    const { events } = recordSignals();
    const scheduler = new CronerScheduler(
      [job('* * * * * *', { execute: () => void scheduler.stop() }).job],
      { events },
    );
    scheduler.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('can be followed by another start', async () => {
    const { job: every, ticks } = job('* * * * * *');
    const scheduler = start(every);
    await vi.advanceTimersByTimeAsync(1_000);
    await scheduler.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    scheduler.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ticks).toEqual(['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:12.000Z']);
  });
});

describe('rejects, before anything runs,', () => {
  test.each([
    ['nonsense', {}, /schedule 'nonsense' is not a cron expression/],
    ['* * * *', {}, /five fields, or six with seconds/],
    ['61 * * * * *', {}, /Invalid value for second: 61/],
    ['2030-01-01T00:00:00', {}, /not a cron expression/],
    ['0 0 31 2 *', {}, /has no time in the future/],
    ['0 3 * * *', { timezone: 'Mars/Phobos' }, /timezone 'Mars\/Phobos' is unknown; use an IANA name/],
    ['0 3 * * *', { timezone: '' }, /timezone '' is unknown/],
    ['0 3 * * *', { lockTtlMs: 0 }, /lockTtlMs must be at least 1 .* got 0/],
    ['0 3 * * *', { lockTtlMs: -1 }, /got -1/],
    ['0 3 * * *', { lockTtlMs: Number.NaN }, /got NaN/],
    ['0 3 * * *', { lockTtlMs: 2 ** 31 }, /below 2\^31/],
    ['0 3 * * *', { name: '' }, /name must have 1 to 255 characters/],
    ['0 3 * * *', { name: 'x'.repeat(256) }, /name must have 1 to 255 characters/],
  ])('%j with %j', (schedule, options, message) => {
    const make = (): unknown => new CronerScheduler([job(schedule, options).job]);
    expect(make).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(message) }),
    );
  });

  test('two jobs of one name', () => {
    const make = (): unknown => new CronerScheduler([job('* * * * *').job, job('0 3 * * *').job]);
    expect(make).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining("two scheduled jobs are called 'job'"),
      }),
    );
  });
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}
