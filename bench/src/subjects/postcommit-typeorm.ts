import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { monotonicMs, type Subject } from '../subject.js';
import { createOutbox, outboxTable } from './outbox-table.js';
import { claiming, enqueue, inBatches, runApplication } from './postcommit.js';

export const postcommitTypeorm: Subject = {
  id: 'store-typeorm',
  name: 'postcommit, store-typeorm',
  settings: 'as store-pg; its transactions are those of TypeORM',
  isOurs: true,
  prepare: createOutbox,
  open: async (place) => {
    const dataSource = await new DataSource({ type: 'postgres', url: place.url, poolSize: 50 }).initialize();
    const store = new TypeormOutboxStore(dataSource);
    return {
      ...outboxTable(place),
      consume: (report) => runApplication(OutboxTypeormModule.forRoot({ dataSource }), inBatches(report)),
      transact: async (orders) => {
        let sentAt = 0;
        await dataSource.transaction(async (manager) => {
          await manager.query('insert into orders (number) values ($1)', [orders[0] ?? 0]);
          if (orders.length > 0) await enqueue(store, manager, orders);
          sentAt = monotonicMs();
        });
        return sentAt;
      },
      claim: claiming(store),
      close: async () => {
        await store.flushWakeup();
        await dataSource.destroy();
      },
    };
  },
};
