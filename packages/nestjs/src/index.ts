// The module

export type { OutboxEventContext } from './on-outbox-event.js';
export { OnOutboxEvent } from './on-outbox-event.js';
export type { OutboxModuleAsyncOptions } from './outbox.module.js';
export { OutboxModule } from './outbox.module.js';
export { OUTBOX_APP } from './outbox-app.js';
// Emitting and handling
export { OutboxEmitter } from './outbox-emitter.js';
// Health
export type { OutboxHealthResult } from './outbox-health-indicator.js';
export { OutboxHealthIndicator } from './outbox-health-indicator.js';
export type { OutboxModuleOptions } from './outbox-module-options.js';
