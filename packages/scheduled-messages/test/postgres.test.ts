import {
  composeModules,
  type DispatchEventMap,
  DispatchEvents,
  type OutboxApp,
  OutboxModule,
  type OutboxRow,
  OutboxStore,
} from '@postcommit/core';
import type { DispatchEventName } from '@postcommit/core/internal';
import {
  ScheduledMessagesModule,
  type ScheduledMessagesModuleOptions,
  ScheduleService,
  type ScheduleSpec,
} from '@postcommit/scheduled-messages';
import { OutboxPgModule, type PgClientLike } from '@postcommit/store-pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { shiftTimes, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { DAY_MS, gate, MINUTE_MS, readSchedule, recorder, reminder } from './schedules-fixture.js';

const patience = { timeout: 30_000 };
const fixture = usePostgres();
const running: OutboxApp[] = [];
const kafka: OutboxRow[] = [];

beforeEach(async () => {
  kafka.length = 0;
  await fixture.query('truncate outbox');
  await fixture.query('drop table if exists invoices');
  await fixture.query('create table invoices (id text primary key)');
});

afterEach(async () => {
  for (const app of running.splice(0)) await app.stop();
});

function compose(options: ScheduledMessagesModuleOptions, { worker = true } = {}): OutboxApp {
  const app = composeModules([
    OutboxModule.forRoot({ worker, publisher: async (row) => void kafka.push(row) }),
    OutboxPgModule.forRoot({ pool: fixture.pool }),
    ScheduledMessagesModule.forRoot(options),
  ]);
  running.push(app);
  return app;
}

async function start(options: ScheduledMessagesModuleOptions): Promise<OutboxApp> {
  const app = compose(options);
  await app.start();
  return app;
}

function schedulesOf(app: OutboxApp): ScheduleService<PgClientLike> {
  return app.get(ScheduleService);
}

/** By the database's clock, which decides. */
async function inMs(ms: number, more: Partial<ScheduleSpec> = {}): Promise<ScheduleSpec> {
  const [record] = await fixture.query('select extract(epoch from clock_timestamp())::float8 * 1000 as ms');
  return reminder({ runAt: new Date(Math.ceil(Number(record?.ms)) + ms), ...more });
}

function told<Signal extends DispatchEventName>(
  app: OutboxApp,
  signal: Signal,
): Promise<DispatchEventMap[Signal]> {
  return new Promise((resolve) => {
    const off = app.get(DispatchEvents).on(signal, (each) => {
      off();
      resolve(each);
    });
  });
}

/** Resolves when so many rows in all are dispatched in the table. */
function dispatchedRows(app: OutboxApp, wanted: number): Promise<void> {
  let rows = 0;
  return new Promise((resolve) => {
    app.get(DispatchEvents).on('batch', ({ dispatched }) => {
      rows += dispatched;
      if (rows >= wanted) resolve();
    });
  });
}

async function inTransaction<T>(
  end: 'commit' | 'rollback',
  work: (client: PgClientLike) => Promise<T>,
): Promise<T> {
  const client = await fixture.pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query(end);
    return result;
  } finally {
    client.release();
  }
}

test(
  'a schedule commits with the business row, and a real worker delivers it, not before its time',
  patience,
  async () => {
    const wasDue: unknown[] = [];
    const { arrived, listeners } = recorder(async ({ runAt }) => {
      wasDue.push(...(await fixture.query('select clock_timestamp() >= $1::timestamptz as due', [runAt])));
    });
    const app = await start({ listeners });
    const bothDispatched = dispatchedRows(app, 2);
    await app
      .get(OutboxStore)
      .enqueue({ topic: 'payments.charge-reminder', payload: { of: 'the application' } });
    const spec = await inMs(400, { metadata: { tenant: 't-1' } });
    const schedule = (end: 'commit' | 'rollback'): Promise<string> =>
      inTransaction(end, async (client) => {
        await client.query('insert into invoices values ($1)', [end]);
        return schedulesOf(app).scheduleWith(client, spec);
      });
    const lost = await schedule('rollback');
    const kept = await schedule('commit');
    await bothDispatched;
    expect(await fixture.query('select id from invoices')).toEqual([{ id: 'commit' }]);
    expect(await schedulesOf(app).get(lost)).toBeUndefined();
    expect(await readSchedule(schedulesOf(app), kept)).toMatchObject({
      status: 'completed',
      attempts: 0,
      runAt: spec.runAt,
      metadata: { tenant: 't-1' },
      retry: { attempts: 5, backoff: { type: 'exponential', delay: 30_000 } },
    });
    expect(arrived).toMatchObject([{ scheduledJobId: kept, attempt: 1, payload: { invoiceId: 'i-7' } }]);
    expect(wasDue).toEqual([{ due: true }]);
    expect(kafka).toMatchObject([{ payload: { of: 'the application' } }]);
  },
);

test(
  'retries wait 30 s, 1, 2, 4 min; after the fifth attempt it has failed, and schedule.failed is emitted',
  patience,
  async () => {
    const { arrived, failed, listeners } = recorder(() => {
      throw new Error('card declined');
    });
    const app = await start({ listeners });
    const schedules = schedulesOf(app);
    let failure = told(app, 'failed');
    const id = await schedules.scheduleAt(await inMs(0));
    const waits: number[] = [];
    const dead = told(app, 'dead');
    for (let retry = 1; retry <= 4; retry++) {
      waits.push((await failure).delayMs);
      expect(await readSchedule(schedules, id)).toMatchObject({ status: 'active', attempts: retry });
      failure = told(app, 'failed');
      await shiftTimes(fixture, waits.at(-1) ?? 0);
    }
    await dead;
    expect(waits).toEqual([30_000, MINUTE_MS, 2 * MINUTE_MS, 4 * MINUTE_MS]);
    const ended = await readSchedule(schedules, id);
    expect(ended).toMatchObject({
      status: 'failed',
      attempts: 5,
      lastError: expect.stringContaining('card declined'),
    });
    expect(ended).not.toHaveProperty('completedAt');
    expect(arrived.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(failed).toMatchObject([
      { scheduledJobId: id, attempts: 5, lastError: ended.lastError, metadata: {} },
    ]);
    expect(kafka).toEqual([]);
  },
);

test('a schedule cancelled in flight finishes its attempt and is fenced', patience, async () => {
  const started = gate();
  const finish = gate();
  const { arrived, failed, listeners } = recorder(async () => {
    started.open();
    await finish.opened;
    throw new Error('too late');
  });
  const app = await start({ listeners });
  const fenced = told(app, 'fenced');
  const id = await schedulesOf(app).scheduleAt(await inMs(0, { retry: { attempts: 1 } }));
  await started.opened;
  expect(await readSchedule(schedulesOf(app), id)).toMatchObject({ status: 'active', attempts: 0 });
  expect(await schedulesOf(app).cancel(id)).toBe('may-still-be-published');
  finish.open();
  expect(await fenced).toEqual({ ids: [id] });
  const ended = await readSchedule(schedulesOf(app), id);
  expect(ended).toMatchObject({ status: 'cancelled', attempts: 0 });
  expect(ended).not.toHaveProperty('lastError');
  expect([arrived.length, failed.length]).toEqual([1, 0]);
});

test('a schedule cancelled in backoff is never retried', patience, async () => {
  const { arrived, listeners } = recorder(({ topic }) => {
    if (topic === 'bad') throw new Error('no');
  });
  const app = await start({ listeners });
  const failure = told(app, 'failed');
  const id = await schedulesOf(app).scheduleAt(await inMs(0, { topic: 'bad' }));
  await failure;
  expect(await schedulesOf(app).cancel(id)).toBe('cancelled');
  await shiftTimes(fixture, DAY_MS);
  // What comes later and is heard shows that the worker has looked since.
  const batch = told(app, 'batch');
  await schedulesOf(app).scheduleAt(await inMs(0, { topic: 'good' }));
  expect(await batch).toMatchObject({ fetched: 1, dispatched: 1 });
  expect(arrived.map(({ topic }) => topic)).toEqual(['bad', 'good']);
  expect(await readSchedule(schedulesOf(app), id)).toMatchObject({ status: 'cancelled', attempts: 1 });
});

test('one process schedules, another one listens', patience, async () => {
  const heard = gate();
  const { arrived, listeners } = recorder(() => heard.open());
  await start({ listeners });
  const scheduling = compose({ retention: false }, { worker: false });
  const id = await schedulesOf(scheduling).scheduleAt(await inMs(0));
  await heard.opened;
  expect(arrived).toMatchObject([{ scheduledJobId: id }]);
});

test('the application lists, cancels and purges schedules; other rows stay', patience, async () => {
  const app = compose({});
  const schedules = schedulesOf(app);
  const store = app.get(OutboxStore);
  await schedules.scheduleAt(await inMs(DAY_MS, { id: 'late' }));
  await schedules.scheduleAt(await inMs(MINUTE_MS, { id: 'soon', topic: 'orders.expire' }));
  await schedules.scheduleAt(await inMs(DAY_MS, { id: 'gone' }));
  await store.enqueue({ id: 'event', topic: 'orders.expire', payload: {} });
  await store.markDead('event', 'triage me');
  expect(await schedules.cancel('gone')).toBe('cancelled');
  expect(await schedules.cancel('event')).toBe(false);
  expect((await schedules.list({ status: 'scheduled' })).map(({ id }) => id)).toEqual(['soon', 'late']);
  expect((await schedules.list({ topic: 'orders.*' })).map(({ id }) => id)).toEqual(['soon']);
  expect(await schedules.get('event')).toBeUndefined();
  await shiftTimes(fixture, 31 * DAY_MS);
  expect(await schedules.purge()).toBe(1);
  expect((await schedules.list()).map(({ id }) => id)).toEqual(['late', 'soon']);
  expect(await store.count()).toMatchObject({ pending: 2, dead: 1 });
});

test('a pool is not a transaction: nothing is written outside one', async () => {
  const schedules = schedulesOf(compose({}));
  const spec = await inMs(0);
  await expect(schedules.scheduleWith(fixture.pool as never, spec)).rejects.toMatchObject({
    code: 'INVALID_TRANSACTION',
  });
  expect(await schedules.list()).toEqual([]);
});

test(
  'exactly the latest 1,000 completed rows are kept, even if whole batches completed at the same time',
  patience,
  async () => {
    const app = compose({}, { worker: false });
    const schedules = schedulesOf(app);
    await schedules.scheduleAt(reminder({ id: 's', runAt: new Date(0) }));
    await schedules.scheduleAt(reminder({ id: 'waiting', runAt: new Date(Date.now() + DAY_MS) }));
    await app.get(OutboxStore).enqueue({ id: 'not-ours', topic: 'order.paid', payload: 1 });
    await fixture.query(`
    insert into outbox (id, topic, payload, headers, max_attempts, backoff)
    select 's' || n, topic, payload, headers, max_attempts, backoff
    from outbox, generate_series(1, 1989) n where id = 's' order by n`);
    await fixture.query(
      "update outbox set dispatched_at = now() where id <> 'waiting' and dispatched_at is null",
    );
    expect(await schedules.purgeCompleted()).toBe(990);
    expect(await app.get(OutboxStore).count()).toMatchObject({ pending: 1, dispatched: 1_001 });
    expect(await schedules.get('s989'), 'the oldest go').toBeUndefined();
    expect(await schedules.get('s990')).toMatchObject({ status: 'completed' });
    expect(await schedules.purgeCompleted(), 'and no more').toBe(0);
  },
);
