// The module
export type { OutboxModuleAsyncOptions } from './outbox.module.js';
export { OutboxModule } from './outbox.module.js';
export type { OutboxModuleOptions } from './outbox-module-options.js';
export { OUTBOX_APP } from './outbox-app.js';

// Emitting and handling
export { OutboxEmitter } from './outbox-emitter.js';
export type { OutboxEventContext } from './on-outbox-event.js';
export { OnOutboxEvent } from './on-outbox-event.js';

// Health
export { OutboxHealthIndicator } from './outbox-health-indicator.js';
