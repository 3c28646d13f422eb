// Events and their listeners
export { OnEvent, onEvent } from './on-event.js';
export { OutboxEvent } from './outbox-event.js';
export { contributeListeners, EventListeners } from './event-listeners.js';
export type { ListenerSource } from './event-listeners.js';
export type { Listener } from './listener.js';
export type { Heard } from './listener-options.js';

// The bus
export type { Delivery } from './event-bus.js';
export { EventBus } from './event-bus.js';
export { EventSubscriptions } from './event-subscriptions.js';
export { MemoryEventBus } from './memory-event-bus.js';

// From the outbox to the bus
export type { NoListenerPolicy } from './no-listener-error.js';
export { NoListenerError } from './no-listener-error.js';
export { ListenersFailedError } from './listeners-failed-error.js';
export { OutboxEventsPublisher } from './outbox-events-publisher.js';

// Modules
export { EventsMemoryModule } from './events-memory-module.js';
export { EventsModule } from './events-module.js';
export type { OutboxEventsModuleOptions } from './outbox-events-module.js';
export { OutboxEventsModule } from './outbox-events-module.js';
