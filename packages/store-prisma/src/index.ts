// The store
export type {
  PrismaClientLike,
  PrismaTransactionLike,
  PrismaTransactionOptions,
} from './prisma-client-like.js';
export { PrismaOutboxStore } from './prisma-outbox-store.js';

// The module
export type { OutboxPrismaModuleOptions } from './outbox-prisma-module.js';
export { OutboxPrismaModule, prismaStore } from './outbox-prisma-module.js';
export { PrismaClientToken } from './prisma-client-token.js';
