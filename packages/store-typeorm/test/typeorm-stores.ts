import { TypeormOutboxStore, typeormDatabase } from '@postcommit/store-typeorm';
import { DataSource, type DataSourceOptions, type EntityManager } from 'typeorm';
import { afterAll, beforeAll } from 'vitest';
import type { SqlFixture, SqlStores } from '../../store-sql/test/sql-fixture.js';

/** A data source on the fixture's database, open while the tests of a file run; use it inside tests only. */
export function useDataSource(
  fixture: { readonly url: string },
  options: Pick<DataSourceOptions, 'entities'> & { readonly type?: 'postgres' | 'mysql' } = {},
): { readonly dataSource: DataSource } {
  let dataSource: DataSource | undefined;
  beforeAll(async () => {
    dataSource = await new DataSource({ type: 'postgres', url: fixture.url, ...options }).initialize();
  });
  afterAll(() => dataSource?.destroy());
  return {
    get dataSource() {
      if (!dataSource) throw new Error('the data source is there only while tests run');
      return dataSource;
    },
  };
}

export function typeormStores(source: {
  readonly dataSource: DataSource;
}): SqlStores<SqlFixture, EntityManager> {
  return {
    createStore: (_fixture, options) => new TypeormOutboxStore(source.dataSource, options),
    executor: () => typeormDatabase(source.dataSource).executor,
    begin: async () => {
      const queryRunner = source.dataSource.createQueryRunner();
      await queryRunner.startTransaction();
      let ended = false;
      const end = async (finish: () => Promise<void>): Promise<void> => {
        if (ended) return;
        ended = true;
        await finish();
        await queryRunner.release();
      };
      return {
        handle: queryRunner.manager,
        // TypeORM's nested transactions are savepoints.
        savepoint: async () => {
          await queryRunner.startTransaction();
          return () => queryRunner.rollbackTransaction();
        },
        commit: () => end(() => queryRunner.commitTransaction()),
        rollback: () => end(() => queryRunner.rollbackTransaction()),
      };
    },
  };
}
