import {
  contributeFactory,
  Lifecycles,
  type Module,
  OutboxError,
  optional,
  provideFactory,
} from '@postcommit/core';
import { EventBus } from './event-bus.js';
import { EventListeners } from './event-listeners.js';
import { EventSubscriptions } from './event-subscriptions.js';

/**
 * Subscribes the `EventListeners` of all modules to the bus. Compose it with `EventsMemoryModule`, or bind an `EventBus`.
 */
export const EventsModule: Module = {
  name: 'EventsModule',
  provides: [
    provideFactory(
      EventSubscriptions,
      // Optional, so that the error can say which module to add.
      [optional(EventBus), EventListeners],
      (bus, listeners) => new EventSubscriptions(bus ?? missingBus(), listeners),
    ),
  ],
  contributes: [contributeFactory(Lifecycles, [EventSubscriptions], (subscriptions) => subscriptions)],
};

function missingBus(): never {
  throw new OutboxError(
    'MISSING_BINDING',
    'EventBus is not bound, so EventsModule has nothing to subscribe listeners to: compose EventsMemoryModule, or add preferences: [{ provide: EventBus, useClass: … }]',
  );
}
