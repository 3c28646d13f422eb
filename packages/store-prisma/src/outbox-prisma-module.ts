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
import { listenClientFor } from './listen-client.js';
import type { PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';
import { PrismaClientToken } from './prisma-client-token.js';
import { prismaExecutor } from './prisma-executor.js';
import { PrismaOutboxStore, type PrismaOutboxStoreOptions } from './prisma-outbox-store.js';

export type OutboxPrismaModuleOptions = Omit<PrismaOutboxStoreOptions, 'pipeline' | 'claimSessions'> & {
  /**
   * Where a worker opens its listener connection, with `pg`, which must be installed. A direct connection to the server,
   * not through a transaction pooler. Prisma itself can't listen.
   *
   * @default none: a worker polls
   */
  readonly connectionString?: string | undefined;
  /** Instead of `connectionString`: creates the listener connection, and each replacement for it. The outbox closes it. */
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
  connectionString: true,
  listenClient: true,
  ...STORE_NAMES,
};

/**
 * Binds `PrismaOutboxStore` as the store, with its client, schema, job locks and processed messages, and with
 * `connectionString` the worker wake-up.
 */
export const OutboxPrismaModule = {
  [Symbol.toStringTag]: 'OutboxPrismaModule',

  /**
   * @throws `INVALID_CONFIG` unless exactly one of `client` and `clientFactory` is passed, and it is a Prisma client; or if
   * `connectionString` can't be used.
   */
  forRoot(given: OutboxPrismaModuleOptions): StoreModule<PrismaTransactionLike> {
    assertKnownOptions('OutboxPrismaModule', given ?? {}, OPTION_NAMES);
    const { client, clientFactory, connectionString, listenClient, ...options } = given ?? {};
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
          { ...options, listenClient: listenClientFor({ connectionString, listenClient }) },
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
 * @throws `INVALID_CONFIG` if `client` is not a Prisma client, or if `connectionString` can't be used.
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
