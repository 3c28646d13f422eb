import {
  contributeFactory,
  EnqueuePipeline,
  JobLock,
  Lifecycles,
  type Module,
  OutboxError,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
  type Provider,
  provideFactory,
} from '@postcommit/core';
import { SqlJobLock, SqlOutboxSchema, SqlProcessedMessages } from '@postcommit/sql';
import type { PrismaClientLike } from './prisma-client-like.js';
import { PrismaClientToken } from './prisma-client-token.js';
import { prismaExecutor } from './prisma-executor.js';
import { PrismaOutboxStore, type PrismaOutboxStoreOptions } from './prisma-outbox-store.js';

export type OutboxPrismaModuleOptions = Omit<PrismaOutboxStoreOptions, 'pipeline'> &
  (
    | {
        /** Yours: it is neither connected nor disconnected here. */
        readonly client: PrismaClientLike;
        readonly clientFactory?: never;
      }
    | {
        /** Called once; what it makes is disconnected when the application stops. */
        readonly clientFactory: () => PrismaClientLike;
        readonly client?: never;
      }
  );

/** Binds `PrismaOutboxStore` as the store, with its client, schema, job locks and processed messages. */
export const OutboxPrismaModule = {
  forRoot({ client, clientFactory, ...options }: OutboxPrismaModuleOptions): Module {
    return {
      name: 'OutboxPrismaModule',
      provides: [
        clientProvider(client, clientFactory),
        provideFactory(
          PrismaOutboxStore,
          [PrismaClientToken, EnqueuePipeline],
          (prisma, pipeline) => new PrismaOutboxStore(prisma, { ...options, pipeline }),
        ),
        { provide: OutboxStore, useExisting: PrismaOutboxStore },
        provideFactory(
          OutboxSchema,
          [PrismaClientToken],
          (prisma) => new SqlOutboxSchema(prismaExecutor(prisma), options),
        ),
        provideFactory(
          JobLock,
          [PrismaClientToken],
          (prisma) => new SqlJobLock(prismaExecutor(prisma), options),
        ),
        provideFactory(
          ProcessedMessages,
          [PrismaClientToken],
          (prisma) => new SqlProcessedMessages(prismaExecutor(prisma), options),
        ),
      ],
      contributes: clientFactory ? [disconnectAtStop] : [],
    };
  },
};

function clientProvider(client?: PrismaClientLike, clientFactory?: () => PrismaClientLike): Provider {
  if (client && !clientFactory) return { provide: PrismaClientToken, useValue: client };
  if (clientFactory && !client) return { provide: PrismaClientToken, useFactory: clientFactory };
  throw new OutboxError('INVALID_CONFIG', 'OutboxPrismaModule.forRoot needs either client or clientFactory');
}

const disconnectAtStop = contributeFactory(Lifecycles, [PrismaClientToken], (client) => ({
  name: 'PrismaClient',
  phase: 'resource' as const,
  start: () => {},
  stop: () => client.$disconnect(),
}));
