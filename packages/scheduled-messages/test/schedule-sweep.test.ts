import { composeModules, DispatchEvents, OutboxModule } from '@postcommit/core';
import { ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { expect, test } from 'vitest';
import { ScheduleSweep } from '../src/schedule-sweep.js';
import { DAY_MS, openSchedules, recorder, reminder } from './schedules-fixture.js';

const fail = (): never => {
  throw new Error('no');
};

/** One failed, one cancelled, one completed schedule and one dead row of the application, all ended so many days ago. */
async function endedDaysAgo(days: number): Promise<ReturnType<typeof openSchedules>> {
  const { listeners } = recorder(({ topic }) => topic === 'bad' && fail());
  const clock = new VirtualClock(new Date(Date.now() - days * DAY_MS));
  const fixture = openSchedules({ listeners, clock, outbox: { publisher: async () => {} } });
  const { schedules, store, inMs, dispatch } = fixture;
  await schedules.scheduleAt(inMs(0, { id: 'failed', topic: 'bad', retry: { attempts: 1 } }));
  await schedules.scheduleAt(inMs(0, { id: 'completed' }));
  await schedules.scheduleAt(inMs(DAY_MS, { id: 'cancelled' }));
  await schedules.scheduleAt(inMs(90 * DAY_MS, { id: 'waiting' }));
  await schedules.cancel('cancelled');
  await dispatch();
  await store.enqueue([
    { id: 'of-the-app', topic: 'schedule.arrived', payload: {} },
    { id: 'of-the-app-too', topic: 'order.paid', payload: {} },
  ]);
  await store.markDead('of-the-app', 'triage me');
  await store.markDead('of-the-app-too', 'triage me');
  return fixture;
}

test('failed and cancelled schedules are kept for 30 days', async () => {
  const { schedules, store } = await endedDaysAgo(29);
  expect(await schedules.purge()).toBe(0);
  expect(await store.count()).toMatchObject({ total: 6 });
});

test('then they are deleted, and nothing else', async () => {
  const { schedules, store } = await endedDaysAgo(31);
  expect(await schedules.purge()).toBe(2);
  expect((await schedules.list()).map(({ id }) => id)).toEqual(['waiting', 'completed']);
  expect(await store.count()).toMatchObject({ dead: 2, total: 4 });
});

test('more than one page is deleted', async () => {
  const { schedules, inMs, store } = openSchedules({ clock: new VirtualClock(new Date(0)) });
  const ids = Array.from({ length: 1_500 }, (_, n) => `s${n}`);
  for (const id of ids) await schedules.scheduleAt(inMs(DAY_MS, { id }));
  await Promise.all(ids.map((id) => store.cancel(id)));
  expect(await schedules.purge()).toBe(1_500);
});

test('completed schedules are kept for 7 days', async () => {
  const { schedules } = await endedDaysAgo(6);
  expect(await schedules.purgeCompleted({ ageMs: 7 * DAY_MS, count: 1_000 })).toBe(0);
  expect(await schedules.get('completed')).toMatchObject({ status: 'completed' });
});

test('at most the latest 1,000 completed schedules are kept, however recent', async () => {
  const clock = new VirtualClock();
  const { listeners } = recorder();
  const fixture = openSchedules({
    listeners,
    clock,
    outbox: { publisher: async () => {}, batchSize: 2_000 },
  });
  const { schedules, store, inMs, dispatch } = fixture;
  for (const [n, batch] of [3, 1_000].entries()) {
    for (let id = 0; id < batch; id++) await schedules.scheduleAt(inMs(0, { id: `s${n}-${id}` }));
    await dispatch();
    await clock.advance(1_000);
  }
  expect(await schedules.purgeCompleted()).toBe(3);
  expect(await schedules.get('s0-0')).toBeUndefined();
  expect(await store.count()).toMatchObject({ dispatched: 1_000 });
  expect(await schedules.purgeCompleted(), 'and no more').toBe(0);
});

test('the limit can be configured; an invalid one is rejected', async () => {
  const { schedules } = await endedDaysAgo(5);
  expect(await schedules.purge(new Date(Date.now() - 6 * DAY_MS))).toBe(0);
  expect(await schedules.purge(new Date(Date.now() - 4 * DAY_MS))).toBe(2);
  await expect(schedules.purge(new Date('x'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('a running application sweeps at its start, then regularly until it stops', async () => {
  const clock = new VirtualClock();
  const asked: number[] = [];
  const schedules = {
    purge: async (before?: Date) => asked.push(Date.now() - (before?.getTime() ?? 0)),
    purgeCompleted: async () => 0,
  };
  const sweep = new ScheduleSweep(
    schedules,
    new DispatchEvents(),
    { failedAgeMs: DAY_MS, completed: { ageMs: DAY_MS, count: 1 }, sweepIntervalMs: 1_000 },
    clock,
  );
  sweep.start();
  await clock.advance(3_500);
  expect(asked).toHaveLength(4);
  for (const ageMs of asked) expect(Math.abs(ageMs - DAY_MS)).toBeLessThan(60_000);
  await sweep.stop();
  await clock.advance(10_000);
  expect(asked).toHaveLength(4);
});

test('a failed sweep is reported, and repeated', async () => {
  const clock = new VirtualClock();
  const events = new DispatchEvents();
  const told: unknown[] = [];
  events.on('trouble', (each) => told.push(each));
  const sweep = new ScheduleSweep(
    { purge: async () => fail(), purgeCompleted: async () => 0 },
    events,
    { failedAgeMs: 1, completed: { ageMs: 1, count: 1 }, sweepIntervalMs: 1_000 },
    clock,
  );
  sweep.start();
  await clock.advance(1_500);
  await sweep.stop();
  expect(told).toEqual(Array(2).fill({ error: new Error('no'), retryInMs: 1_000 }));
});

test.each([
  { failedAgeMs: 0 },
  { failedAgeMs: Number.NaN },
  { sweepIntervalMs: 0 },
  { sweepIntervalMs: 2 ** 31 },
])('retention %o is rejected where it is set', (retention) => {
  expect(() => ScheduledMessagesModule.forRoot({ retention })).toThrow(
    expect.objectContaining({ code: 'INVALID_CONFIG' }),
  );
});

test('an application without retention keeps all, and stops cleanly', async () => {
  const app = composeModules([
    OutboxModule,
    OutboxMemoryModule,
    ScheduledMessagesModule.forRoot({ retention: false }),
  ]);
  await app.start();
  await app.get(ScheduleService).scheduleAt(reminder({ runAt: new Date(Date.now() + DAY_MS) }));
  await app.stop();
  expect(await app.get(ScheduleService).list()).toHaveLength(1);
});
