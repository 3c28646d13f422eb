import {
  composeModules,
  DispatchEvents,
  OutboxDispatcher,
  OutboxModule,
  OutboxPublisher,
  OutboxRoutes,
  type OutboxRow,
  OutboxWorker,
  type Provider,
  provideFactory,
} from '@postcommit/core';
import * as events from '@postcommit/publisher-events';
import {
  contributeListeners,
  type Delivery,
  EventBus,
  EventsMemoryModule,
  EventsModule,
  MemoryEventBus,
  OnEvent,
  OutboxEvent,
  OutboxEventsModule,
  onEvent,
} from '@postcommit/publisher-events';
import * as own from '@postcommit/scheduled-messages';
import { ScheduleArrived, ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { MemoryOutboxStore, MemoryTable, OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test, vi } from 'vitest';
import { load, problemsOf } from '../../publisher-events/test/types/compile.js';
import { DAY_MS, openSchedules, recorder, reminder } from './schedules-fixture.js';

describe("the application's own publisher", () => {
  test('never sees a schedule, and schedules never see its rows', async () => {
    const kafka: string[] = [];
    const publisher = async (row: OutboxRow): Promise<void> => void kafka.push(row.topic);
    const { arrived, listeners } = recorder();
    const { schedules, store, inMs, dispatch } = openSchedules({ listeners, outbox: { publisher } });
    await store.enqueue({ topic: 'payments.charge-reminder', payload: { from: 'the application' } });
    await store.enqueue({ topic: 'schedule.arrived', payload: { topic: 'x' } });
    await schedules.scheduleAt(inMs(0));
    expect(await dispatch()).toMatchObject({ dispatched: 3 });
    expect(kafka).toEqual(['payments.charge-reminder', 'schedule.arrived']);
    expect(arrived).toMatchObject([{ payload: { invoiceId: 'i-7' } }]);
  });

  test('does not receive them even if it publishes many rows in one call', async () => {
    const sent: string[] = [];
    class Broker extends OutboxPublisher {
      async publish(): Promise<void> {}
      override async publishBatch(rows: readonly OutboxRow[]): Promise<{ status: 'fulfilled' }[]> {
        sent.push(...rows.map(({ topic }) => topic));
        return rows.map(() => ({ status: 'fulfilled' }));
      }
    }
    const { arrived, listeners } = recorder();
    const { schedules, store, inMs, dispatch } = openSchedules({
      listeners,
      outbox: { publisher: new Broker() },
    });
    await store.enqueue({ topic: 'a', payload: {} });
    await schedules.scheduleAt(inMs(0));
    await store.enqueue({ topic: 'b', payload: {} });
    await dispatch();
    expect(sent).toEqual(['a', 'b']);
    expect(arrived).toHaveLength(1);
  });

  test('can be omitted if there are only schedules', async () => {
    const { arrived, listeners } = recorder();
    const { schedules, inMs, dispatch } = openSchedules({ listeners });
    await schedules.scheduleAt(inMs(0));
    await dispatch();
    expect(arrived).toHaveLength(1);
  });

  test('can publish to the same listeners: an outbox event is not a schedule', async () => {
    const heard: string[] = [];
    const { arrived, listeners } = recorder();
    const outboxEvent = onEvent(OutboxEvent, ({ topic }) => heard.push(topic), { name: 'outbox' });
    const { schedules, store, inMs, dispatch } = openSchedules({
      listeners,
      modules: [OutboxEventsModule.forRoot({ listeners: [outboxEvent] })],
    });
    await store.enqueue({ topic: 'order.paid', payload: {} });
    await schedules.scheduleAt(inMs(0));
    expect(await dispatch()).toMatchObject({ dispatched: 2 });
    expect(heard).toEqual(['order.paid']);
    expect(arrived).toHaveLength(1);
  });
});

describe('the bus', () => {
  test('is the one that the application composed', async () => {
    const seen: string[] = [];
    class ObservedBus extends MemoryEventBus {
      override publish(event: object): Promise<Delivery> {
        seen.push((event as { name: string }).name);
        return super.publish(event);
      }
    }
    const { arrived, failed, listeners } = recorder(() => {
      throw new Error('no');
    });
    const app = composeModules(
      [
        OutboxModule,
        OutboxMemoryModule,
        EventsModule,
        ScheduledMessagesModule,
        { name: 'shop', contributes: contributeListeners(...listeners) },
      ],
      { preferences: [{ provide: EventBus, useClass: ObservedBus }] },
    );
    await app.get(ScheduleService).scheduleAt(reminder({ runAt: new Date(0), retry: { attempts: 1 } }));
    await app.get(OutboxDispatcher).dispatchPending();
    expect(seen).toEqual(['schedule.arrived', 'schedule.failed']);
    expect([arrived.length, failed.length]).toEqual([1, 1]);
  });

  test('can be that of EventsMemoryModule; each listener is called once', async () => {
    const { arrived, listeners } = recorder();
    const { app, schedules, inMs, dispatch } = openSchedules({
      listeners,
      modules: [EventsModule, EventsMemoryModule, OutboxEventsModule],
    });
    await app.start();
    await app.get(OutboxWorker).stop();
    await schedules.scheduleAt(inMs(0));
    await dispatch();
    await app.stop();
    expect(arrived).toHaveLength(1);
  });
});

test('a listener can inject the service and schedule', async () => {
  class Chain {
    static readonly inject = [ScheduleService] as const;
    readonly #schedules: ScheduleService;

    constructor(schedules: ScheduleService) {
      this.#schedules = schedules;
    }

    async on({ runAt }: ScheduleArrived): Promise<void> {
      await this.#schedules.scheduleAt(reminder({ id: 'next', runAt: new Date(runAt.getTime() + DAY_MS) }));
    }
  }
  const method = Object.getOwnPropertyDescriptor(Chain.prototype, 'on') as TypedPropertyDescriptor<
    Chain['on']
  >;
  OnEvent(ScheduleArrived, { name: 'chain', topic: 'payments.*' })(Chain.prototype, 'on', method);
  const { schedules, inMs, dispatch, clock } = openSchedules({ listeners: [Chain] });
  await schedules.scheduleAt(inMs(0));
  await dispatch();
  expect(await schedules.get('next')).toMatchObject({ runAt: new Date(clock.now() + DAY_MS) });
});

describe('an application that runs', () => {
  /** A worker of the application, whose timers only the test moves. */
  function workerOn(clock: VirtualClock): Provider {
    return provideFactory(
      OutboxWorker,
      [MemoryOutboxStore, OutboxRoutes, DispatchEvents],
      (store, routes, events) => {
        const [route] = routes.items;
        if (!route) throw new Error('no route');
        return new OutboxWorker(store, route.publisher, { events, clock });
      },
    );
  }

  test('delivers a schedule within a second of its time, and polls no more often than that', async () => {
    const clock = new VirtualClock();
    const lateMs: number[] = [];
    const { listeners } = recorder(({ runAt }) => void lateMs.push(clock.now() - runAt.getTime()));
    const app = composeModules(
      [
        OutboxModule,
        OutboxMemoryModule.forRoot({ table: new MemoryTable(clock) }),
        ScheduledMessagesModule.forRoot({ listeners, retention: false }),
      ],
      { preferences: [workerOn(clock)] },
    );
    const store = app.get(MemoryOutboxStore);
    const fetchPending = vi.spyOn(store, 'fetchPending');
    const offsets = [60_137, 61_999, 300_001, 3_600_500];
    for (const ms of offsets)
      await app.get(ScheduleService).scheduleAt(reminder({ runAt: new Date(clock.now() + ms) }));
    await app.start();
    await clock.advance(30_000);
    fetchPending.mockClear();
    await clock.advance(30_000);
    expect(fetchPending.mock.calls.length, 'one look a second while idle').toBeLessThanOrEqual(30);
    await clock.advance(3_700_000);
    await app.stop();
    expect(lateMs).toHaveLength(offsets.length);
    for (const ms of lateMs) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(1_000);
    }
  });
});

describe('types', () => {
  const patience = { timeout: 60_000 };
  const text = (...lines: string[]): string =>
    [
      "import { OnEvent, onEvent } from '@postcommit/publisher-events';",
      "import { type IScheduleArrivedEvent, ScheduleArrived, ScheduleFailed, ScheduleService } from '@postcommit/scheduled-messages';",
      "import { MemoryOutboxStore, type MemoryTransaction } from '@postcommit/store-memory';",
      'export const service = new ScheduleService(new MemoryOutboxStore());',
      'declare const tx: MemoryTransaction;',
      ...lines,
    ].join('\n');

  test('serve applications that declare no topics', patience, () => {
    const source = text(
      "export const id: Promise<string> = service.scheduleAt({ topic: 'payments.charge-reminder', runAt: new Date(), timezone: 'UTC', payload: { invoiceId: '...' }, retry: { attempts: 3, backoff: { type: 'fixed', delay: 10_000 } } });",
      "export const within: Promise<string> = service.scheduleWith(tx, { topic: 'a', runAt: '2026-03-29T02:30', timezone: 'Europe/Berlin', payload: 1 });",
      '// @ts-expect-error: not assignable',
      "export const wrong = service.scheduleWith('tx', { topic: 'a', runAt: new Date(), payload: 1 });",
      'export class Reminders {',
      "  @OnEvent(ScheduleArrived, { name: 'r', topic: 'payments.*' })",
      '  on(event: IScheduleArrivedEvent): number { return event.attempt; }',
      "  @OnEvent(ScheduleFailed, { name: 'f', topic: 'payments.*' })",
      '  failed(event: ScheduleFailed): string { return event.lastError; }',
      '  readonly unused = onEvent;',
      '}',
    );
    expect(problemsOf('schedules.ts', 'standard', source)).toEqual([]);
    expect(problemsOf('schedules.ts', 'legacy', source)).toEqual([]);
  });

  test('serve applications that declare topics', patience, () => {
    const source = text(
      "declare module '@postcommit/core' { interface OutboxTopics { 'order.expire': { id: string }; 'mail.send': { to: string } } }",
      'export const at = { runAt: new Date() };',
      "export const good = service.scheduleAt({ ...at, topic: 'order.expire', payload: { id: '7' } });",
      '// @ts-expect-error: not assignable',
      "export const bad = service.scheduleWith(tx, { ...at, topic: 'order.expire', payload: { to: '7' } });",
      '// @ts-expect-error: not assignable',
      "export const unknown = service.scheduleWith(tx, { ...at, topic: 'order.expired', payload: { id: '7' } });",
      "export const one = onEvent(ScheduleArrived, ({ payload }) => payload.id, { name: 'a', topic: 'order.*' });",
      "export const two = onEvent(ScheduleFailed, ({ topic }) => topic === 'mail.send', { name: 'b', topic: 'mail.*' });",
      '// @ts-expect-error: noDeclaredTopicMatches',
      "export const three = onEvent(ScheduleArrived, () => {}, { name: 'c', topic: 'odrer.*' });",
      'export type Unused = [typeof OnEvent, IScheduleArrivedEvent];',
    );
    expect(problemsOf('schedules.ts', 'standard', source)).toEqual([]);
  });
});

describe.each(['standard', 'legacy'] as const)('a class with %s decorators', (decorators) => {
  test('receives the topics of its pattern', async () => {
    const modules = { '@postcommit/publisher-events': events, '@postcommit/scheduled-messages': own };
    const source = [
      "import { OnEvent } from '@postcommit/publisher-events';",
      "import { ScheduleArrived } from '@postcommit/scheduled-messages';",
      'export const heard: string[] = [];',
      'export class Reminders {',
      "  @OnEvent(ScheduleArrived, { name: 'reminders', topic: 'payments.*' })",
      '  on(event: ScheduleArrived) { heard.push(event.topic); }',
      '}',
    ];
    const { Reminders, heard } = load({ text: source.join('\n') }, decorators, modules);
    const { schedules, inMs, dispatch } = openSchedules({
      listeners: [Reminders as new () => object],
      onNoListener: () => {},
    });
    await schedules.scheduleAt(inMs(0));
    await schedules.scheduleAt(inMs(0, { topic: 'orders.expire' }));
    await dispatch();
    expect(heard).toEqual(['payments.charge-reminder']);
  });
});

test('listeners of another copy of the package are called', async () => {
  vi.resetModules();
  const foreign = await import('@postcommit/scheduled-messages');
  expect(foreign.ScheduleArrived).not.toBe(ScheduleArrived);
  const heard: string[] = [];
  const listener = onEvent(foreign.ScheduleArrived, ({ topic }) => heard.push(topic), { name: 'foreign' });
  const { app, schedules, inMs, dispatch } = openSchedules({ listeners: [listener] });
  expect(app.get(foreign.ScheduleService)).toBe(schedules);
  await schedules.scheduleAt(inMs(0));
  await dispatch();
  expect(heard).toEqual(['payments.charge-reminder']);
});
