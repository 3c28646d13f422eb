import {
  EnqueuePipeline,
  type Module,
  OutboxStore,
  provideFactory,
  type Token,
  TransactionalOutboxStore,
} from '@postcommit/core';
import { OutboxPrismaModule, type PrismaClientLike } from '@postcommit/store-prisma';
import type { AnyStore, OutboxModuleOptions, StoreSource } from './outbox-module-options.js';
import { invalid } from './resolve-options.js';

/** Creates a client that forwards to the provider of this class. */
export type ReferClient = (clientClass: Token<PrismaClientLike>) => PrismaClientLike;

/** Returns the module of the store, or none if one of the further modules must provide it. */
export function storeModules(
  { prisma, store }: OutboxModuleOptions,
  claimTimeoutMs: number,
  refer: ReferClient,
): Module[] {
  if (prisma !== undefined && store !== undefined)
    throw invalid('prisma is shorthand for store: pass one of them');
  if (prisma !== undefined) return [prismaModule(prisma, claimTimeoutMs, refer)];
  return store === undefined ? [] : [moduleOf(store, claimTimeoutMs)];
}

function prismaModule(
  prisma: Token<PrismaClientLike> | PrismaClientLike,
  claimTimeoutMs: number,
  refer: ReferClient,
): Module {
  const client = typeof prisma === 'function' ? refer(prisma) : prisma;
  if (typeof client?.$queryRawUnsafe !== 'function')
    throw invalid('prisma must be a Prisma client or its class; pass any other store as store');
  return OutboxPrismaModule.forRoot({ client, claimTimeoutMs });
}

function moduleOf(source: StoreSource, claimTimeoutMs: number): Module {
  if (isModule(source)) return source;
  if (isStore(source)) return moduleAround(() => source);
  if (typeof source === 'function' && !isStore(source.prototype))
    return moduleAround((pipeline) => checkedStore(source({ pipeline, claimTimeoutMs })));
  throw invalid(
    'store must be the module of a store, a store, or a function that creates one: ' +
      'store: (options) => new TypeormOutboxStore(dataSource, options)',
  );
}

function moduleAround(make: (pipeline: EnqueuePipeline) => AnyStore): Module {
  return {
    name: 'the store of OutboxModule',
    provides: [
      provideFactory(TransactionalOutboxStore, [EnqueuePipeline], make),
      { provide: OutboxStore, useExisting: TransactionalOutboxStore },
    ],
  };
}

function checkedStore(store: unknown): AnyStore {
  if (isStore(store)) return store;
  throw invalid('the store function must return a store that has enqueueWith, not a Promise');
}

function isModule(source: StoreSource): source is Module {
  return typeof source === 'object' && source !== null && ('provides' in source || 'contributes' in source);
}

/** Checks the methods, not the class: a store may come from another copy of the core. */
export function isStore(source: unknown): source is AnyStore {
  const { fetchPending, enqueueWith } = (source ?? {}) as Partial<AnyStore>;
  return typeof fetchPending === 'function' && typeof enqueueWith === 'function';
}
