export type { OutboxPrismaModuleOptions, PrismaStoreOptions } from './outbox-prisma-module.js';
export { OutboxPrismaModule, prismaStore } from './outbox-prisma-module.js';
export type {
  PrismaClientLike,
  PrismaTransactionLike,
  PrismaTransactionOptions,
} from './prisma-client-like.js';
export { PrismaClientToken } from './prisma-client-token.js';
export { prismaExecutor } from './prisma-executor.js';
export type { PrismaOutboxStoreOptions } from './prisma-outbox-store.js';
export { PrismaOutboxStore } from './prisma-outbox-store.js';
