import { outboxEntities } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type PostgresFixture, usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { OrderEntity } from '../../packages/store-typeorm/test/order.js';

export interface OrdersDatabase extends Pick<PostgresFixture, 'url' | 'pool' | 'query'> {
  /** Open while the tests of a file run. */
  readonly dataSource: DataSource;
  statusOf(order: string): Promise<unknown>;
}

/** A database with one order, '7', whose tables TypeORM made: `synchronize: true`, as in the document. */
export function useOrdersDatabase(): OrdersDatabase {
  const fixture = usePostgres(async () => {});
  let dataSource: DataSource | undefined;
  beforeAll(async () => {
    dataSource = new DataSource({
      type: 'postgres',
      url: fixture.url,
      entities: [OrderEntity, ...outboxEntities],
      synchronize: true,
    });
    await dataSource.initialize();
  });
  beforeEach(async () => {
    await fixture.query(
      'truncate orders, outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused',
    );
    await fixture.query(`insert into orders values ('7', 'new')`);
  });
  afterAll(() => dataSource?.destroy());
  return {
    get url() {
      return fixture.url;
    },
    get pool() {
      return fixture.pool;
    },
    query: fixture.query,
    get dataSource() {
      if (!dataSource) throw new Error('the data source is there only while tests run');
      return dataSource;
    },
    statusOf: async (order) =>
      (await fixture.query('select status from orders where id = $1', [order]))[0]?.status,
  };
}
