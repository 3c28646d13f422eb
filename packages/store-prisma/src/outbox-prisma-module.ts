import {
  contributeFactory,
  EnqueuePipeline,
  Lifecycles,
  OutboxError,
  OutboxStore,
  type Provider,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import {
  ClaimSessions,
  type ListenClientLike,
  SQL_STORE_OPTION_NAMES,
  sqlCapabilities,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import { asClient } from './as-client.js';
import type { PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';
import { PrismaClientToken } from './prisma-client-token.js';
import { prismaExecutor } from './prisma-executor.js';
import { PrismaOutboxStore, type PrismaOutboxStoreOptions } from './prisma-outbox-store.js';

export type OutboxPrismaModuleOptions = Omit<PrismaOutboxStoreOptions, 'pipeline' | 'claimSessions'> & {
  /**
   * Creates the listener connection of a worker, and each replacement for it: `() => new pg.Client({ connectionString })`.
   * Connect to the server directly, not through a transaction pooler. The outbox closes it. Without it, a worker polls.
   */
  readonly listenClient?: () => ListenClientLike;
} & (
    | {
        /** Your client. The outbox neither connects nor disconnects it. */
        readonly client: PrismaClientLike;
        readonly clientFactory?: never;
      }
    | {
        /** Creates the client. Called once; the client is disconnected when the application stops. */
        readonly clientFactory: () => PrismaClientLike;
        readonly client?: never;
      }
  );

const { pipeline: _, claimSessions: __, ...STORE_NAMES } = SQL_STORE_OPTION_NAMES;
const OPTION_NAMES: OptionNames<OutboxPrismaModuleOptions> = {
  client: true,
  clientFactory: true,
  listenClient: true,
  ...STORE_NAMES,
};

/**
 * Binds `PrismaOutboxStore` as the store, with its client, schema, job locks and processed messages, and with
 * `listenClient` the worker wake-up.
 */
export const OutboxPrismaModule = {
  [Symbol.toStringTag]: 'OutboxPrismaModule',

  /** @throws `INVALID_CONFIG` unless exactly one of `client` and `clientFactory` is passed, and it is a Prisma client. */
  forRoot(given: OutboxPrismaModuleOptions): StoreModule<PrismaTransactionLike> {
    assertKnownOptions('OutboxPrismaModule', given ?? {}, OPTION_NAMES);
    const { client, clientFactory, listenClient, ...options } = given ?? {};
    return {
      name: 'OutboxPrismaModule',
      store: PrismaOutboxStore,
      provides: [
        clientProvider(client, clientFactory),
        provideFactory(
          PrismaOutboxStore,
          [PrismaClientToken, EnqueuePipeline, ClaimSessions],
          (prisma, pipeline, claimSessions) =>
            new PrismaOutboxStore(prisma, { ...options, pipeline, claimSessions }),
        ),
        { provide: OutboxStore, useExisting: PrismaOutboxStore },
        ...sqlCapabilities(
          (token, make) =>
            provideFactory(token, [PrismaClientToken, ClaimSessions], (prisma, claimSessions) =>
              make({ executor: prismaExecutor(prisma), table: options, claimSessions }),
            ),
          { ...options, listenClient },
        ),
      ],
      // Stopped in reverse order: a wake-up after the client has disconnected would connect it again.
      contributes: [
        ...(clientFactory ? [disconnectAtStop] : []),
        contributeFactory(Lifecycles, [PrismaOutboxStore], wakeupLifecycle),
      ],
    };
  },
};

/** Options of `prismaStore`. */
export type PrismaStoreOptions = Omit<OutboxPrismaModuleOptions, 'client' | 'clientFactory'>;

/**
 * Stores the outbox in PostgreSQL, through a Prisma client. `enqueueWith` takes the client of your interactive transaction.
 *
 * @throws `INVALID_CONFIG` if `client` is not a Prisma client.
 *
 * @example
 * const outbox = createOutbox({ store: prismaStore(prisma), publisher });
 */
export function prismaStore(
  client: PrismaClientLike,
  options: PrismaStoreOptions = {},
): StoreModule<PrismaTransactionLike> {
  return OutboxPrismaModule.forRoot({ ...options, client });
}

function clientProvider(client?: PrismaClientLike, clientFactory?: () => PrismaClientLike): Provider {
  if (clientFactory && !client) return { provide: PrismaClientToken, useFactory: clientFactory };
  if (clientFactory)
    throw new OutboxError(
      'INVALID_CONFIG',
      'OutboxPrismaModule.forRoot takes client or clientFactory, not both',
    );
  return { provide: PrismaClientToken, useValue: asClient(client) };
}

const disconnectAtStop = contributeFactory(Lifecycles, [PrismaClientToken], (client) => ({
  name: 'PrismaClient',
  phase: 'resource' as const,
  start: () => {},
  stop: () => client.$disconnect(),
}));
