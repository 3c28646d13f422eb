/** The reader's own application, and what a fragment may use without importing it again. Nothing here runs. */
import { type OutboxApp, OutboxPublisher, type OutboxRow } from '@postcommit/core';
import { type DataSource, EntitySchema } from 'typeorm';
import type { PrismaClient } from '../../../packages/store-prisma/test/gen/client.js';

export {
  composeModules,
  createOutbox,
  DispatchEvents,
  errorFromResponse,
  type Module,
  OutboxDispatcher,
  OutboxModule,
  type OutboxRoute,
  OutboxRoutes,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
  OutboxWorker,
  PermanentError,
  ProcessedMessages,
  routePublisher,
  TransientError,
  UnavailableError,
} from '@postcommit/core';
export { inTransaction, OutboxPgModule, PgOutboxStore, pgStore } from '@postcommit/store-pg';
export { OutboxPrismaModule, PrismaOutboxStore, prismaStore } from '@postcommit/store-prisma';
export { OutboxTypeormModule, TypeormOutboxStore, typeormStore } from '@postcommit/store-typeorm';
export { default as pg, type PoolClient } from 'pg';
export { DataSource } from 'typeorm';

export declare const app: OutboxApp;
export declare const broker: {
  send(
    topic: string,
    payload: unknown,
    options: { messageId: string; key?: string | undefined; headers?: Readonly<Record<string, string>> },
  ): Promise<void>;
};
export declare const dataSource: DataSource;
export declare const id: string;
export declare const log: Record<'info' | 'warn' | 'error', (fields: object, message?: string) => void>;
export declare const modules: import('@postcommit/core').Module[];
export declare const pool: import('pg').Pool;
export declare const prisma: PrismaClient;
export declare const url: string;
export declare function publisher(row: OutboxRow): Promise<void>;

class Kafka extends OutboxPublisher {
  override async publish(): Promise<void> {}
}
export const kafka: OutboxPublisher = new Kafka();

export const Order: EntitySchema<{ id: string; status: string }> = new EntitySchema({
  name: 'Order',
  columns: { id: { type: String, primary: true }, status: { type: String } },
});
