// The module

export type { EventSelector, OnOutboxEventDecorator, OutboxEventContext } from './on-outbox-event.js';
// Handling
export { OnOutboxEvent } from './on-outbox-event.js';
export type { OutboxModuleAsyncOptions } from './outbox.module.js';
export { OutboxModule } from './outbox.module.js';
export { OUTBOX_APP } from './outbox-app.js';
export type { EmitOptions, TransactionHandle } from './outbox-emitter.js';
// Emitting
export { OutboxEmitter } from './outbox-emitter.js';
export type { EventPayload, OutboxEventClass } from './outbox-event.js';
export type { OutboxHealthOptions, OutboxHealthResult } from './outbox-health-indicator.js';
// Health
export { OutboxHealthIndicator } from './outbox-health-indicator.js';
export type {
  OutboxModuleExtras,
  OutboxModuleOptions,
  PollingOptions,
  PublisherSource,
  RetryModuleOptions,
  StoreSource,
} from './outbox-module-options.js';
