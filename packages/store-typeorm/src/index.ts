// The store
export { typeormDatabase } from './typeorm-database.js';
export { TypeormOutboxStore } from './typeorm-outbox-store.js';
export type { TypeormTransaction } from './typeorm-transaction.js';

// The module
export type { OutboxTypeormModuleOptions } from './outbox-typeorm-module.js';
export { OutboxTypeormModule, typeormStore } from './outbox-typeorm-module.js';

// Entities, for migrations by TypeORM
export { outboxEntitiesFor } from './outbox-entities.js';
export { OutboxEntity, outboxEntities } from './outbox-entity.js';
