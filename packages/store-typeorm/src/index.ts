export type { OutboxLockRecord, OutboxProcessedRecord, OutboxRecord } from './outbox-entity.js';
export { OutboxEntity, outboxEntities, outboxEntitiesFor, outboxEntity } from './outbox-entity.js';
export type { OutboxTypeormModuleOptions } from './outbox-typeorm-module.js';
export { OutboxTypeormModule } from './outbox-typeorm-module.js';
export { typeormExecutor } from './typeorm-executor.js';
export type { TypeormOutboxStoreOptions } from './typeorm-outbox-store.js';
export { TypeormOutboxStore } from './typeorm-outbox-store.js';
