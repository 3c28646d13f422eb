import {
  type Contribution,
  contributeFactory,
  DispatchEvents,
  EnqueuePipeline,
  Lifecycles,
  type Module,
  OutboxCounters,
  OutboxRoutes,
  OutboxStore,
  optional,
  provideFactory,
} from '@postcommit/core';
import { assertKnownOptions, nameToken, type OptionNames } from '@postcommit/core/internal';
import {
  contributeListeners,
  EventBus,
  EventListeners,
  EventSubscriptions,
  type ListenerSource,
  MemoryEventBus,
} from '@postcommit/publisher-events';
import { NoListenerCounter, type OnNoListener } from './no-listener-counter.js';
import { publishFailures } from './schedule-failures.js';
import { SchedulePublisher } from './schedule-publisher.js';
import { resolveScheduleRetry, type ScheduleRetry } from './schedule-retry.js';
import { isScheduleRow } from './schedule-row.js';
import { ScheduleService } from './schedule-service.js';
import { resolveScheduleRetention, type ScheduleRetentionOptions, ScheduleSweep } from './schedule-sweep.js';

export interface ScheduledMessagesModuleOptions {
  /**
   * The retry policy of schedules that have none.
   *
   * @default 5 attempts, exponential from 30 s
   */
  readonly retry?: ScheduleRetry | undefined;
  /** Classes with `@OnEvent(ScheduleArrived, …)`, instances of them, results of `onEvent`. Modules may add more. */
  readonly listeners?: readonly ListenerSource[] | undefined;
  /**
   * Called when a schedule arrives without a listener. The schedule completes anyway.
   *
   * @default a process warning
   */
  readonly onNoListener?: OnNoListener | undefined;
  /** When ended schedules are deleted. With `false`, this module deletes none. */
  readonly retention?: ScheduleRetentionOptions | false | undefined;
}

const OPTION_NAMES: OptionNames<ScheduledMessagesModuleOptions> = {
  retry: true,
  listeners: true,
  onNoListener: true,
  retention: true,
};

/** The subscriptions of `EventsModule` if it is composed; otherwise this module's own. */
class ScheduleSubscriptions extends EventSubscriptions {
  static {
    nameToken(this, '@postcommit/scheduled-messages/ScheduleSubscriptions');
  }
}

/** Created with every dispatcher, started or not, so that a dispatch by a command publishes `schedule.failed` too. */
const ROUTE: Contribution = contributeFactory(
  OutboxRoutes,
  [ScheduleSubscriptions, EnqueuePipeline, NoListenerCounter, DispatchEvents],
  (subscriptions, pipeline, noListener, events) => {
    publishFailures(events, subscriptions);
    const publisher = new SchedulePublisher(subscriptions, pipeline, noListener);
    return { name: 'scheduled messages', matches: isScheduleRow, publisher };
  },
);

/**
 * Binds `ScheduleService`, and routes its rows to the listeners of `ScheduleArrived` instead of the application's
 * publisher. Compose it with `OutboxModule` and a store. Use it as a module with all defaults, or pass options to
 * `forRoot`.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @throws ScheduleError `SCHEDULE_RETRY_POLICY_INVALID` from `forRoot` for an invalid `retry`.
 * @example
 * ScheduledMessagesModule.forRoot({ listeners: [Reminders] })
 */
export const ScheduledMessagesModule: Module & { forRoot(options?: ScheduledMessagesModuleOptions): Module } =
  {
    ...scheduledMessagesModule({}),
    forRoot: (options = {}) => scheduledMessagesModule(options),
  };

function scheduledMessagesModule(options: ScheduledMessagesModuleOptions): Module {
  assertKnownOptions('ScheduledMessagesModule', options, OPTION_NAMES);
  const { listeners = [], onNoListener } = options;
  // Report an invalid option here, at the call.
  const retry = resolveScheduleRetry(options.retry);
  return {
    name: 'ScheduledMessagesModule',
    provides: [
      provideFactory(
        ScheduleService,
        [OutboxStore, EnqueuePipeline],
        (store, pipeline) => new ScheduleService(store, { retry, pipeline }),
      ),
      { provide: NoListenerCounter, useFactory: () => new NoListenerCounter(onNoListener) },
      provideFactory(
        ScheduleSubscriptions,
        [optional(EventSubscriptions), optional(EventBus), EventListeners],
        (shared, bus, all) => shared ?? new EventSubscriptions(bus ?? new MemoryEventBus(), all),
      ),
    ],
    contributes: [
      ROUTE,
      { to: OutboxCounters, useExisting: NoListenerCounter },
      // Shared subscriptions are contributed by EventsModule too: starting and stopping twice is harmless.
      contributeFactory(Lifecycles, [ScheduleSubscriptions], (subscriptions) => subscriptions),
      ...sweep(options.retention),
      ...contributeListeners(...listeners),
    ],
  };
}

function sweep(options: ScheduleRetentionOptions | false | undefined): Contribution[] {
  if (options === false) return [];
  const retention = resolveScheduleRetention(options);
  return [
    contributeFactory(
      Lifecycles,
      [ScheduleService, DispatchEvents],
      (schedules, events) => new ScheduleSweep(schedules, events, retention),
    ),
  ];
}
