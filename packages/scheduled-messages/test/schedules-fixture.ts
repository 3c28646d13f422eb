import {
  composeModules,
  type DispatchSummary,
  type Module,
  type OutboxApp,
  OutboxDispatcher,
  OutboxModule,
  type OutboxModuleOptions,
} from '@postcommit/core';
import { type Listener, onEvent } from '@postcommit/publisher-events';
import {
  ScheduleArrived,
  type ScheduledMessage,
  ScheduledMessagesModule,
  type ScheduledMessagesModuleOptions,
  ScheduleFailed,
  ScheduleService,
  type ScheduleSpec,
} from '@postcommit/scheduled-messages';
import {
  MemoryOutboxStore,
  MemoryTable,
  type MemoryTransaction,
  OutboxMemoryModule,
  VirtualClock,
} from '@postcommit/store-memory';

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

export interface SchedulesFixture {
  readonly app: OutboxApp;
  readonly clock: VirtualClock;
  readonly store: MemoryOutboxStore;
  readonly schedules: ScheduleService<MemoryTransaction>;
  /** A spec that is due in so many milliseconds by the store's clock. */
  inMs(ms: number, more?: Partial<ScheduleSpec>): ScheduleSpec;
  dispatch(): Promise<DispatchSummary>;
  /** The schedule as it is stored now. */
  read(id: string): Promise<ScheduledMessage>;
}

export interface FixtureOptions extends ScheduledMessagesModuleOptions {
  readonly outbox?: OutboxModuleOptions;
  readonly modules?: readonly Module[];
  readonly clock?: VirtualClock;
}

/** An application on the memory store, whose time only the test moves. */
export function openSchedules({
  outbox,
  modules = [],
  clock = new VirtualClock(),
  ...options
}: FixtureOptions = {}): SchedulesFixture {
  const app = composeModules([
    OutboxModule.forRoot(outbox),
    OutboxMemoryModule.forRoot({ table: new MemoryTable(clock) }),
    ScheduledMessagesModule.forRoot(options),
    ...modules,
  ]);
  const schedules: ScheduleService<MemoryTransaction> = app.get(ScheduleService);
  return {
    app,
    clock,
    store: app.get(MemoryOutboxStore),
    schedules,
    inMs: (ms, more) => reminder({ runAt: new Date(clock.now() + ms), ...more }),
    dispatch: () => app.get(OutboxDispatcher).dispatchPending(),
    read: (id) => readSchedule(schedules, id),
  };
}

export function reminder(spec: Partial<ScheduleSpec> & Pick<ScheduleSpec, 'runAt'>): ScheduleSpec {
  return { topic: 'payments.charge-reminder', payload: { invoiceId: 'i-7' }, timezone: 'UTC', ...spec };
}

export async function readSchedule(
  schedules: Pick<ScheduleService, 'get'>,
  id: string,
): Promise<ScheduledMessage> {
  const found = await schedules.get(id);
  if (!found) throw new Error(`no schedule ${id}`);
  return found;
}

/** Listens to both events and keeps them; fails as `fail` says. */
export function recorder(fail: (event: ScheduleArrived) => unknown = () => {}): {
  readonly arrived: ScheduleArrived[];
  readonly failed: ScheduleFailed[];
  readonly listeners: Listener[];
} {
  const arrived: ScheduleArrived[] = [];
  const failed: ScheduleFailed[] = [];
  const listeners = [
    onEvent(
      ScheduleArrived,
      async (event) => {
        arrived.push(event);
        await fail(event);
      },
      { name: 'arrived' },
    ),
    onEvent(ScheduleFailed, (event) => failed.push(event), { name: 'failed' }),
  ] as Listener[];
  return { arrived, failed, listeners };
}

/** A promise and the way to fulfil it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
