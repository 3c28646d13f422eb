import { ScheduledMessagesModule } from '@postcommit/scheduled-messages';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SCHEDULE_RETRY, type ScheduleRetry } from '../src/schedule-retry.js';
import { openSchedules } from './schedules-fixture.js';

const INVALID = expect.objectContaining({ name: 'ScheduleError', code: 'SCHEDULE_RETRY_POLICY_INVALID' });

async function retryOf(retry?: ScheduleRetry, defaults?: ScheduleRetry): Promise<unknown> {
  const { schedules, inMs, read } = openSchedules(defaults ? { retry: defaults } : {});
  const id = await schedules.scheduleAt(inMs(1_000, { retry }));
  return (await read(id)).retry;
}

test('the defaults are 5 attempts, exponential, 30,000 ms', async () => {
  expect(DEFAULT_SCHEDULE_RETRY).toEqual({ attempts: 5, backoff: { type: 'exponential', delay: 30_000 } });
  expect(await retryOf()).toEqual(DEFAULT_SCHEDULE_RETRY);
});

test('a schedule overrides all or some of them', async () => {
  const whole = { attempts: 3, backoff: { type: 'fixed', delay: 10_000 } } as const;
  expect(await retryOf(whole)).toEqual(whole);
  expect(await retryOf({ attempts: 2 })).toEqual({ ...DEFAULT_SCHEDULE_RETRY, attempts: 2 });
  expect(await retryOf({ backoff: { delay: 1_500 } })).toEqual({
    attempts: 5,
    backoff: { type: 'exponential', delay: 1_500 },
  });
});

test('the defaults of the module come in between', async () => {
  const defaults = { attempts: 9, backoff: { type: 'fixed', delay: 2_000 } } as const;
  expect(await retryOf(undefined, defaults)).toEqual(defaults);
  expect(await retryOf({ attempts: 2 }, defaults)).toEqual({ ...defaults, attempts: 2 });
});

describe('the bounds', () => {
  test.each([1, 20])('%i attempts are allowed', async (attempts) => {
    expect(await retryOf({ attempts })).toMatchObject({ attempts });
  });

  test.each([1_000, 3_600_000])('a delay of %i ms is allowed', async (delay) => {
    expect(await retryOf({ backoff: { delay } })).toMatchObject({ backoff: { delay } });
  });

  test.each([
    { attempts: 0 },
    { attempts: 21 },
    { attempts: -1 },
    { attempts: 2.5 },
    { attempts: Number.NaN },
    { attempts: Number.POSITIVE_INFINITY },
    { attempts: '3' },
    { attempts: null },
    { backoff: { delay: 999 } },
    { backoff: { delay: 3_600_001 } },
    { backoff: { delay: Number.NaN } },
    { backoff: { delay: 1_500.5 } },
    { backoff: { type: 'linear' } },
    { backoff: null },
    { backoff: 1_000 },
    null,
    5,
  ])('%j is refused, and nothing is stored', async (retry) => {
    const { schedules, store, inMs } = openSchedules();
    const spec = inMs(1_000, { retry: retry as ScheduleRetry });
    await expect(schedules.scheduleAt(spec)).rejects.toEqual(INVALID);
    await expect(store.transaction((tx) => schedules.scheduleWith(tx, spec))).rejects.toEqual(INVALID);
    expect(await store.count()).toMatchObject({ total: 0 });
  });

  test('apply to the module too, when it is configured', () => {
    expect(() => ScheduledMessagesModule.forRoot({ retry: { attempts: 21 } })).toThrow(INVALID);
  });

  test('the message says which, what it must be and what it is', async () => {
    const { schedules, inMs } = openSchedules();
    await expect(schedules.scheduleAt(inMs(0, { retry: { backoff: { delay: 5 } } }))).rejects.toThrow(
      'retry.backoff.delay must be whole milliseconds from 1000 to 3600000, got 5',
    );
  });
});
