import {
  contributeFactory,
  Lifecycles,
  type Module,
  OutboxPublisher,
  optional,
  provideFactory,
} from '@postcommit/core';
import { assertKnownOptions, nameToken, type OptionNames } from '@postcommit/core/internal';
import { EventBus } from './event-bus.js';
import { contributeListeners, EventListeners, type ListenerSource } from './event-listeners.js';
import { EventSubscriptions } from './event-subscriptions.js';
import { MemoryEventBus } from './memory-event-bus.js';
import {
  OutboxEventsPublisher,
  type OutboxEventsPublisherOptions,
  resolveOnNoListener,
} from './outbox-events-publisher.js';

export interface OutboxEventsModuleOptions extends OutboxEventsPublisherOptions {
  /** Classes with `@OnEvent`, instances of them, and results of `onEvent`. Other modules may contribute more. */
  readonly listeners?: readonly ListenerSource[] | undefined;
}

const OPTION_NAMES: OptionNames<OutboxEventsModuleOptions> = { listeners: true, onNoListener: true };

/** The subscriptions of `EventsModule` if it is composed; otherwise this module's own. */
class OutboxEventSubscriptions extends EventSubscriptions {
  static {
    nameToken(this, '@postcommit/publisher-events/OutboxEventSubscriptions');
  }
}

/**
 * Binds `OutboxEventsPublisher` as the publisher: rows go to the listeners in this process. It works on its own; if
 * `EventsModule` and a bus are composed too, it uses that bus.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxEventsModule.forRoot({ listeners: [OrderProjector] })
 */
export const OutboxEventsModule: Module & { forRoot(options?: OutboxEventsModuleOptions): Module } = {
  ...outboxEventsModule({}),
  forRoot: (options = {}) => outboxEventsModule(options),
};

function outboxEventsModule(given: OutboxEventsModuleOptions): Module {
  assertKnownOptions('OutboxEventsModule', given, OPTION_NAMES);
  const { listeners = [], ...options } = given;
  // Report an invalid option here, at the call.
  resolveOnNoListener(options);
  return {
    name: 'OutboxEventsModule',
    provides: [
      provideFactory(
        OutboxEventSubscriptions,
        [optional(EventSubscriptions), optional(EventBus), EventListeners],
        (shared, bus, all) => shared ?? new EventSubscriptions(bus ?? new MemoryEventBus(), all),
      ),
      provideFactory(
        OutboxEventsPublisher,
        [OutboxEventSubscriptions],
        (subscriptions) => new OutboxEventsPublisher(subscriptions, options),
      ),
      { provide: OutboxPublisher, useExisting: OutboxEventsPublisher },
    ],
    contributes: [
      // Shared subscriptions are contributed by EventsModule too: starting and stopping twice is harmless.
      contributeFactory(Lifecycles, [OutboxEventSubscriptions], (subscriptions) => subscriptions),
      ...contributeListeners(...listeners),
    ],
  };
}
