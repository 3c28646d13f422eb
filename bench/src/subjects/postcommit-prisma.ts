import { OutboxPrismaModule, PrismaOutboxStore } from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { setup as generatePrismaClient } from '../../../packages/store-prisma/test/generate-client.mjs';
import { monotonicMs, type Subject } from '../subject.js';
import { createOutbox, outboxTable } from './outbox-table.js';
import { claiming, enqueue, inBatches, runApplication } from './postcommit.js';

export const postcommitPrisma: Subject = {
  id: 'store-prisma',
  name: 'postcommit, store-prisma',
  settings: 'as store-pg; its transactions are those of Prisma 7',
  isOurs: true,
  prepare: async (place) => {
    await generatePrismaClient();
    await createOutbox(place);
  },
  open: async (place) => {
    const { PrismaClient } = await import('../../../packages/store-prisma/test/gen/client.js');
    const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: place.url, max: 50 }) });
    const store = new PrismaOutboxStore(client);
    return {
      ...outboxTable(place),
      consume: (report) =>
        runApplication(
          OutboxPrismaModule.forRoot({ client, connectionString: place.url }),
          inBatches(report),
        ),
      transact: async (orders) => {
        let sentAt = 0;
        await client.$transaction(
          async (tx) => {
            await tx.$executeRaw`insert into orders (number) values (${orders[0] ?? 0})`;
            if (orders.length > 0) await enqueue(store, tx, orders);
            sentAt = monotonicMs();
          },
          { maxWait: 60_000, timeout: 60_000 },
        );
        return sentAt;
      },
      claim: claiming(store),
      close: async () => {
        await store.flushWakeup();
        await client.$disconnect();
      },
    };
  },
};
