/** What every-page.ts only declares, made: fragments run with it, on the database of DATABASE_URL. */
import {
  composeModules,
  type OutboxApp,
  OutboxModule,
  OutboxPublisher,
  OutboxSchema,
  OutboxStore,
} from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource, EntitySchema } from 'typeorm';
import { PrismaClient } from '../../../packages/store-prisma/test/gen/client.js';

export {
  composeModules,
  createOutbox,
  DispatchEvents,
  OutboxDispatcher,
  OutboxModule,
  OutboxSchema,
  OutboxStore,
  OutboxWorker,
  ProcessedMessages,
  routePublisher,
} from '@postcommit/core';
export { inTransaction, OutboxPgModule, PgOutboxStore, pgStore } from '@postcommit/store-pg';
export { OutboxPrismaModule, PrismaOutboxStore, prismaStore } from '@postcommit/store-prisma';
export { OutboxTypeormModule, TypeormOutboxStore, typeormStore } from '@postcommit/store-typeorm';
export { default as pg } from 'pg';
export { DataSource } from 'typeorm';

export const url: string = process.env.DATABASE_URL ?? '';
export const id = 'order-7';
export const publisher = async (): Promise<void> => {};
export const broker = { send: publisher };
export const log = { info: () => {}, warn: () => {}, error: () => {} };
export const sendMail = publisher;
export const remind = publisher;

class Kafka extends OutboxPublisher {
  override async publish(): Promise<void> {}
}
export const kafka: OutboxPublisher = new Kafka();

export const Order: EntitySchema<{ id: string; status: string }> = new EntitySchema({
  name: 'Order',
  tableName: 'orders',
  columns: { id: { type: String, primary: true }, status: { type: String } },
});

export const pool: pg.Pool = new pg.Pool({ connectionString: url });
export const dataSource: DataSource = new DataSource({
  type: 'postgres',
  url,
  entities: [Order],
  synchronize: true,
});
await dataSource.initialize();
await dataSource.getRepository(Order).save({ id, status: 'new' });
export const prisma: PrismaClient = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });

/** One application for pages of both stores: a real one has one of them. */
export const app: OutboxApp = composeModules([
  OutboxModule.forRoot({ publisher }),
  OutboxPgModule.forRoot({ pool }),
  {
    name: 'the other store',
    provides: [{ provide: TypeormOutboxStore, useFactory: () => new TypeormOutboxStore(dataSource) }],
  },
]);
await app.get(OutboxSchema).ensure();
// A dead letter of the same id, for pages that look at one.
await app.get(OutboxStore).enqueue({ id, topic: 'order.paid', payload: { id } });
await app.get(OutboxStore).markDead(id, '502');

export const client: pg.PoolClient = await pool.connect();
await client.query('begin');
