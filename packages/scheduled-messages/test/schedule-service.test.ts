import {
  DispatchEvents,
  type OutboxEntry,
  type OutboxStore,
  PermanentError,
  TransientError,
} from '@postcommit/core';
import { onEvent } from '@postcommit/publisher-events';
import {
  NoListenerCounter,
  ScheduleArrived,
  ScheduleFailed,
  ScheduleService,
  type ScheduleSpec,
} from '@postcommit/scheduled-messages';
import { describe, expect, type MockInstance, onTestFinished, test, vi } from 'vitest';
import { NO_LISTENER_METRIC } from '../src/no-listener-counter.js';
import { DAY_MS, gate, MINUTE_MS, openSchedules, recorder } from './schedules-fixture.js';

const boom = (): never => {
  throw new Error('card declined');
};

/** The warnings of the process, which are not printed. */
function silencedWarnings(): MockInstance<typeof process.emitWarning> {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  return warn;
}

describe('a schedule', () => {
  test('arrives at its time and not before, with its payload', async () => {
    const { arrived, listeners } = recorder();
    const { schedules, inMs, clock, dispatch, read } = openSchedules({ listeners });
    const spec = inMs(10_000, { metadata: { tenant: 't-1' }, timezone: 'Europe/Berlin' });
    const id = await schedules.scheduleAt(spec);
    expect(await read(id)).toMatchObject({ status: 'scheduled', attempts: 0, nextAttemptAt: spec.runAt });
    await clock.advance(9_999);
    expect(await dispatch()).toMatchObject({ fetched: 0 });
    await clock.advance(1);
    expect(await dispatch()).toMatchObject({ dispatched: 1 });
    expect(arrived).toHaveLength(1);
    expect(arrived[0]).toMatchObject({
      name: 'schedule.arrived',
      scheduledJobId: id,
      topic: 'payments.charge-reminder',
      payload: { invoiceId: 'i-7' },
      attempt: 1,
      metadata: { tenant: 't-1' },
      runAt: spec.runAt,
      timezone: 'Europe/Berlin',
    });
    expect(arrived[0]?.signal).toBeInstanceOf(AbortSignal);
    const completed = await read(id);
    expect(completed).toMatchObject({ status: 'completed', completedAt: new Date(clock.now()) });
    expect(completed).not.toHaveProperty('nextAttemptAt');
  });

  test('in wall-clock time is due at that time in its zone', async () => {
    const { schedules, read } = openSchedules();
    const runAt = '2026-03-29T02:30';
    const id = await schedules.scheduleAt({ topic: 't', payload: null, runAt, timezone: 'Europe/Berlin' });
    expect(await read(id)).toMatchObject({
      runAt: new Date('2026-03-29T01:30:00Z'),
      nextAttemptAt: new Date('2026-03-29T01:30:00Z'),
      timezone: 'Europe/Berlin',
      payload: null,
      metadata: {},
    });
  });

  test('in the past is due at once', async () => {
    const { arrived, listeners } = recorder();
    const { schedules, inMs, dispatch } = openSchedules({ listeners });
    await schedules.scheduleAt(inMs(-DAY_MS));
    await dispatch();
    expect(arrived).toHaveLength(1);
  });

  test('commits with the transaction, and rolls back with it', async () => {
    const { schedules, store, inMs } = openSchedules();
    const kept = await store.transaction((tx) => schedules.scheduleWith(tx, inMs(1_000)));
    const lost = store.begin();
    const lostId = await schedules.scheduleWith(lost, inMs(1_000));
    expect(await schedules.get(lostId), 'not visible before the commit').toBeUndefined();
    lost.rollback();
    expect((await schedules.list()).map(({ id }) => id)).toEqual([kept]);
  });

  test('with an explicit id is scheduled once', async () => {
    const { schedules, inMs } = openSchedules();
    expect(await schedules.scheduleAt(inMs(1_000, { id: 'reminder-i-7' }))).toBe('reminder-i-7');
    await expect(schedules.scheduleAt(inMs(1_000, { id: 'reminder-i-7' }))).rejects.toMatchObject({
      code: 'DUPLICATE_ID',
    });
  });

  test.each([
    [{ topic: '' }, 'topic'],
    [{ topic: 'x'.repeat(256) }, 'topic'],
    [{ topic: 7 }, 'topic'],
    [{ payload: undefined }, 'payload'],
    [{ payload: { n: 1n } }, 'payload'],
    [{ metadata: [] }, 'metadata'],
    [{ metadata: { f: Number.NaN } }, 'metadata'],
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ runAt: 'soon' }, 'runAt'],
    [{ id: 'has a space' }, 'id'],
  ])('with %o is refused, and nothing is stored', async (wrong, named) => {
    const { schedules, store, inMs } = openSchedules();
    const spec = inMs(1_000, wrong as Partial<ScheduleSpec>);
    await expect(schedules.scheduleAt(spec)).rejects.toMatchObject({
      name: 'OutboxError',
      code: 'INVALID_ENTRY',
      message: expect.stringContaining(named),
    });
    expect(await store.count()).toMatchObject({ total: 0 });
  });

  test('is checked by the schema of its topic, when it is scheduled and when it arrives', async () => {
    let least = 1;
    const validate = (value: unknown): { value: unknown } | { issues: { message: string }[] } =>
      (value as { cents: number }).cents >= least ? { value } : { issues: [{ message: 'too little' }] };
    const topics = { charge: { '~standard': { version: 1, vendor: 'test', validate } } } as never;
    const { arrived, listeners } = recorder();
    const { schedules, store, dispatch, read } = openSchedules({ listeners, outbox: { topics } });
    const charge = (cents: number): ScheduleSpec => ({
      topic: 'charge',
      payload: { cents },
      runAt: new Date(0),
    });
    await expect(schedules.scheduleAt(charge(0))).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH' });
    expect(await store.count()).toMatchObject({ total: 0 });
    const id = await schedules.scheduleAt(charge(5));
    least = 10;
    await dispatch();
    expect(arrived).toEqual([]);
    expect(await read(id)).toMatchObject({
      status: 'failed',
      lastError: expect.stringContaining('too little'),
    });
  });
});

describe('what counts as a failure', () => {
  test('any listener that throws counts, whatever the others do', async () => {
    const { arrived, listeners } = recorder();
    const failing = onEvent(ScheduleArrived, boom, { name: 'billing' });
    const { schedules, inMs, dispatch, read } = openSchedules({ listeners: [failing, ...listeners] });
    const id = await schedules.scheduleAt(inMs(0));
    expect(await dispatch()).toMatchObject({ failed: 1 });
    expect(arrived, 'the other one ran').toHaveLength(1);
    expect(await read(id)).toMatchObject({
      status: 'active',
      attempts: 1,
      lastError: '1 of 2 listeners failed: billing: card declined',
    });
  });

  test('a topic without listeners does not: completed, with a warning, and counted', async () => {
    const told: unknown[] = [];
    const elsewhere = onEvent(ScheduleArrived, boom, { name: 'elsewhere', topic: 'orders.*' });
    const { app, schedules, inMs, dispatch, read } = openSchedules({
      listeners: [elsewhere],
      onNoListener: (each) => told.push(each),
    });
    const counter = app.get(NoListenerCounter);
    expect(counter.total).toBe(0);
    const id = await schedules.scheduleAt(inMs(0));
    expect(await dispatch()).toMatchObject({ dispatched: 1, failed: 0 });
    expect(await read(id)).toMatchObject({ status: 'completed', attempts: 0 });
    expect(told).toEqual([{ scheduledJobId: id, topic: 'payments.charge-reminder' }]);
    expect(counter.total).toBe(1);
    expect(NO_LISTENER_METRIC).toBe('app_schedule_job_no_listener_total');
  });

  test('by default it causes a process warning', async () => {
    const warn = silencedWarnings();
    const { schedules, inMs, dispatch } = openSchedules();
    const id = await schedules.scheduleAt(inMs(0));
    await dispatch();
    expect(warn.mock.calls).toEqual([[expect.stringContaining(id), 'OutboxWarning']]);
  });

  test('a hook that throws has no effect', async () => {
    const warn = silencedWarnings();
    const { schedules, inMs, dispatch, read } = openSchedules({ onNoListener: boom });
    const id = await schedules.scheduleAt(inMs(0));
    await dispatch();
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(warn.mock.calls).toEqual([[expect.stringContaining('card declined'), 'OutboxWarning']]);
  });
});

describe('the retry flow', () => {
  test('30 s, 1, 2, 4 min: five attempts, active until then, then failed', async () => {
    const { arrived, failed, listeners } = recorder(boom);
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const spec = inMs(0, { metadata: { tenant: 't-1' } });
    const id = await schedules.scheduleAt(spec);
    await dispatch();
    for (const [index, waitMs] of [30_000, MINUTE_MS, 2 * MINUTE_MS, 4 * MINUTE_MS].entries()) {
      expect(await read(id)).toMatchObject({
        status: 'active',
        attempts: index + 1,
        lastError: expect.stringContaining('card declined'),
        nextAttemptAt: new Date(clock.now() + waitMs),
        runAt: spec.runAt,
      });
      await clock.advance(waitMs - 1);
      expect(await dispatch(), 'not before its time').toMatchObject({ fetched: 0 });
      await clock.advance(1);
      await dispatch();
    }
    expect(arrived.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    const ended = await read(id);
    expect(ended).toMatchObject({
      status: 'failed',
      attempts: 5,
      lastError: expect.stringContaining('card declined'),
      failedAt: new Date(clock.now()),
    });
    expect(ended).not.toHaveProperty('completedAt');
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({
      name: 'schedule.failed',
      scheduledJobId: id,
      topic: 'payments.charge-reminder',
      lastError: ended.lastError,
      attempts: 5,
      metadata: { tenant: 't-1' },
      reason: 'exhausted',
    });
    await clock.advance(DAY_MS);
    expect(await dispatch(), 'failed is final').toMatchObject({ fetched: 0 });
  });

  test('one attempt more would wait eight minutes', async () => {
    const { listeners } = recorder(boom);
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0, { retry: { attempts: 6 } }));
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt++) {
      await dispatch();
      const waitMs = ((await read(id)).nextAttemptAt?.getTime() ?? 0) - clock.now();
      waits.push(waitMs / MINUTE_MS);
      await clock.advance(waitMs);
    }
    expect(waits).toEqual([0.5, 1, 2, 4, 8]);
  });

  test('a schedule with its own policy follows that', async () => {
    const { arrived, failed, listeners } = recorder(boom);
    const { schedules, inMs, dispatch, clock, read } = openSchedules({
      listeners,
      outbox: { maxAttempts: 1 },
    });
    const retry = { attempts: 3, backoff: { type: 'fixed', delay: 10_000 } } as const;
    const id = await schedules.scheduleAt(inMs(0, { retry }));
    for (let turn = 0; turn < 5; turn++) {
      await dispatch();
      await clock.advance(10_000);
    }
    expect(arrived).toHaveLength(3);
    expect(failed).toMatchObject([{ scheduledJobId: id, attempts: 3 }]);
    expect(await read(id)).toMatchObject({ status: 'failed', attempts: 3 });
  });

  test('one attempt means no retry', async () => {
    const { arrived, failed, listeners } = recorder(boom);
    const { schedules, inMs, dispatch } = openSchedules({ listeners });
    await schedules.scheduleAt(inMs(0, { retry: { attempts: 1 } }));
    expect(await dispatch()).toMatchObject({ dead: 1 });
    expect([arrived.length, failed.length]).toEqual([1, 1]);
  });

  test('a listener that succeeds in the end completes the schedule', async () => {
    const { arrived, failed, listeners } = recorder(({ attempt }) => attempt < 3 && boom());
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0));
    for (let turn = 0; turn < 4; turn++) {
      await dispatch();
      await clock.advance(5 * MINUTE_MS);
    }
    expect(arrived.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(failed).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'completed', attempts: 2 });
  });

  test('a permanent error ends it at once, and a delay that a listener requests is respected', async () => {
    const fail = ({ topic }: ScheduleArrived): never => {
      throw topic === 'gone' ? new PermanentError('no such invoice') : new TransientError('busy', DAY_MS);
    };
    const { failed, listeners } = recorder(fail);
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const gone = await schedules.scheduleAt(inMs(0, { topic: 'gone' }));
    const busy = await schedules.scheduleAt(inMs(0, { topic: 'busy' }));
    await dispatch();
    expect(failed).toMatchObject([{ scheduledJobId: gone, attempts: 1, reason: 'permanent' }]);
    expect(await read(busy)).toMatchObject({ nextAttemptAt: new Date(clock.now() + DAY_MS) });
  });

  test('schedule.failed is fire and forget: its listeners change nothing, and their errors are reported', async () => {
    const told: unknown[] = [];
    const alert = onEvent(ScheduleFailed, boom, { name: 'alert' });
    const { listeners } = recorder(boom);
    const { app, schedules, inMs, dispatch, read } = openSchedules({ listeners: [...listeners, alert] });
    const heard = new Promise<void>((resolve) => {
      app.get(DispatchEvents).on('listenerFailed', (each) => {
        told.push(each);
        resolve();
      });
    });
    const id = await schedules.scheduleAt(inMs(0, { retry: { attempts: 1 } }));
    expect(await dispatch()).toMatchObject({ dead: 1 });
    await heard;
    expect(await read(id)).toMatchObject({ status: 'failed' });
    expect(told).toMatchObject([{ event: 'dead', error: { message: expect.stringContaining('alert') } }]);
  });

  test('a schedule that crashes its process fails too, with the attempts it had', async () => {
    const { arrived, failed, listeners } = recorder();
    const { schedules, store, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0));
    for (let crash = 0; crash <= 5; crash++) {
      await store.fetchPending(1);
      await clock.advance(store.claimTimeoutMs + 1);
    }
    await dispatch();
    expect(arrived).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'failed', attempts: 0 });
    expect(failed).toMatchObject([{ scheduledJobId: id, attempts: 0, reason: 'crashed' }]);
  });
});

describe('cancelling', () => {
  test('before its time: it never arrives, and stays cancelled', async () => {
    const { arrived, failed, listeners } = recorder();
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(1_000));
    expect(await schedules.cancel(id)).toBe('cancelled');
    expect(await schedules.cancel(id), 'the second changes nothing').toBe(false);
    await clock.advance(DAY_MS);
    expect(await dispatch()).toMatchObject({ fetched: 0 });
    expect([arrived, failed]).toEqual([[], []]);
    const ended = await read(id);
    expect(ended).toMatchObject({ status: 'cancelled', attempts: 0 });
    expect(ended.cancelledAt).toBeInstanceOf(Date);
    expect(ended).not.toHaveProperty('failedAt');
  });

  test('in backoff: it is never retried', async () => {
    const { arrived, failed, listeners } = recorder(boom);
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0));
    await dispatch();
    expect(await read(id)).toMatchObject({ status: 'active' });
    expect(await schedules.cancel(id)).toBe('cancelled');
    await clock.advance(DAY_MS);
    expect(await dispatch()).toMatchObject({ fetched: 0 });
    expect([arrived.length, failed.length]).toEqual([1, 0]);
    expect(await read(id)).toMatchObject({
      status: 'cancelled',
      attempts: 1,
      lastError: expect.stringContaining('card declined'),
    });
  });

  test.each([
    ['succeeds', () => {}, undefined],
    ['fails', boom, undefined],
    ['fails for the last time', boom, { attempts: 1 }],
  ])('in flight: the attempt finishes and %s, but is fenced', async (_title, end, retry) => {
    const started = gate();
    const finish = gate();
    const { failed, listeners } = recorder(async () => {
      started.open();
      await finish.opened;
      end();
    });
    const { schedules, inMs, dispatch, clock, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0, { retry }));
    const dispatched = dispatch();
    await started.opened;
    expect(await read(id), 'claimed is active').toMatchObject({ status: 'active', attempts: 0 });
    expect(await schedules.cancel(id)).toBe('may-still-be-published');
    finish.open();
    expect(await dispatched).toEqual({ fetched: 1, dispatched: 0, failed: 0, dead: 0, fenced: 1 });
    expect(await read(id)).toMatchObject({ status: 'cancelled', attempts: 0 });
    expect(failed).toEqual([]);
    await clock.advance(DAY_MS);
    expect(await dispatch()).toMatchObject({ fetched: 0 });
  });

  test('a schedule that has ended does not change, and unknown ids are ignored', async () => {
    const { listeners } = recorder();
    const { schedules, inMs, dispatch, read } = openSchedules({ listeners });
    const id = await schedules.scheduleAt(inMs(0));
    await dispatch();
    expect(await schedules.cancel(id)).toBe(false);
    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(await schedules.cancel('unknown')).toBe(false);
  });

  test('a row that is not a schedule is ignored', async () => {
    const { schedules, store } = openSchedules();
    const entries = ['order.paid', 'schedule.arrived'].map((topic) => ({ topic, payload: {} }));
    const [event = '', namesake = ''] = await store.enqueue(entries as OutboxEntry[]);
    expect(await schedules.get(event)).toBeUndefined();
    expect(await schedules.cancel(event)).toBe(false);
    expect(await schedules.cancel(namesake)).toBe(false);
    expect(await store.count()).toMatchObject({ pending: 2, dead: 0 });
  });
});

describe('listing', () => {
  test('by status and topic, each in its order', async () => {
    const { listeners } = recorder(({ topic }) => topic === 'bad' && boom());
    const { schedules, inMs, dispatch, clock } = openSchedules({ listeners });
    const add = (id: string, ms: number, more: Partial<ScheduleSpec> = {}): Promise<string> =>
      schedules.scheduleAt(inMs(ms, { id, ...more }));
    await add('done', 0);
    await add('retrying', 0, { topic: 'bad' });
    await add('dead', 0, { topic: 'bad', retry: { attempts: 1 } });
    await dispatch();
    await add('late', DAY_MS);
    await add('soon', MINUTE_MS, { topic: 'orders.expire' });
    await add('gone', DAY_MS);
    await schedules.cancel('gone');
    await clock.advance(1);
    const ids = async (filter?: Parameters<typeof schedules.list>[0]): Promise<string[]> =>
      (await schedules.list(filter)).map(({ id }) => id);
    expect(await ids({ status: 'scheduled' })).toEqual(['soon', 'late']);
    expect(await ids({ status: 'active' })).toEqual(['retrying']);
    expect(await ids({ status: 'completed' })).toEqual(['done']);
    expect(await ids({ status: 'failed' })).toEqual(['dead']);
    expect(await ids({ status: 'cancelled' })).toEqual(['gone']);
    expect(await ids()).toEqual(['late', 'soon', 'retrying', 'gone', 'dead', 'done']);
    expect(await ids({ topic: 'orders.*' })).toEqual(['soon']);
    expect(await ids({ topic: 'payments.charge-reminder', status: 'scheduled' })).toEqual(['late']);
    expect(await ids({ limit: 2 })).toEqual(['late', 'soon']);
  });

  test('finds schedules behind many others', async () => {
    const { schedules, inMs } = openSchedules();
    await schedules.scheduleAt(inMs(DAY_MS, { id: 'first', topic: 'rare' }));
    for (let turn = 0; turn < 300; turn++) await schedules.scheduleAt(inMs(MINUTE_MS));
    expect(await schedules.get('first')).toMatchObject({ id: 'first' });
    expect(await schedules.list({ topic: 'rare' })).toHaveLength(1);
    expect(await schedules.list({ limit: 250 })).toHaveLength(250);
    expect(await schedules.get('unknown')).toBeUndefined();
  });

  test('rejects an invalid limit or status', async () => {
    const { schedules } = openSchedules();
    await expect(schedules.list({ limit: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(schedules.list({ status: 'done' as 'failed' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('lists neither rows of the application nor a row that was edited into something else', async () => {
    const { schedules, store, dispatch } = openSchedules();
    const rows = [
      { topic: 'schedule.arrived', payload: { topic: 'x' }, availableAt: new Date(9e12) },
      { topic: 'schedule.arrived', payload: 'not ours', headers: { 'postcommit-schedule': '1' } },
    ];
    await store.enqueue(rows as OutboxEntry[]);
    expect(await schedules.list()).toEqual([]);
    expect(await dispatch()).toMatchObject({ dead: 1 });
    expect(await store.peek({ state: 'dead' }, 9)).toMatchObject([
      { deadReason: 'undecodable', payload: 'not ours' },
    ]);
  });
});

test('a store without transactions can only schedule outside of one', async () => {
  const { store, inMs } = openSchedules();
  const plain = new Proxy(store, { has: (target, name) => name !== 'enqueueWith' && name in target });
  const service = new ScheduleService(plain as unknown as OutboxStore);
  await expect(service.scheduleWith({}, inMs(0))).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
});

test('a handle that is not a transaction is rejected', async () => {
  const { schedules, inMs } = openSchedules();
  await expect(schedules.scheduleWith({} as never, inMs(0))).rejects.toMatchObject({
    code: 'INVALID_TRANSACTION',
  });
});
