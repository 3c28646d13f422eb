import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import type { SqlRecord, SqlWork } from '@postcommit/store-sql';
import { typeormDatabase } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useMysql } from '../../store-sql/test/mysql-fixture.js';

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql(({ query }) => query('create table numbers (n int)').then(() => {}));
  let dataSource: DataSource;

  beforeAll(async () => {
    // One connection, so that one which is lost or left in a transaction shows.
    dataSource = new DataSource({ type: 'mysql', url: fixture.url, poolSize: 1 });
    await dataSource.initialize();
  });
  afterAll(() => dataSource.destroy());
  beforeEach(async () => {
    await fixture.query('truncate table numbers');
  });

  function run(...texts: string[]): Promise<SqlRecord[]> {
    const [only = '', ...more] = texts;
    const steps: SqlWork = function* () {
      let records: readonly SqlRecord[] = [];
      for (const text of texts) records = yield { text, values: [] };
      return records;
    };
    return typeormDatabase(dataSource).executor(more.length === 0 ? { text: only, values: [] } : steps);
  }

  describe('the executor of a data source', () => {
    it('returns the records of a select, and none for other statements', async () => {
      expect(await run('insert into numbers values (1)')).toEqual([]);
      expect(await run('select n from numbers')).toEqual([{ n: 1 }]);
      expect(await run('update numbers set n = 2')).toEqual([]);
      expect(await run('delete from numbers')).toEqual([]);
      expect(await run('create table if not exists numbers (n int)')).toEqual([]);
    });

    it('runs several statements in one READ COMMITTED transaction, and leaves the session as it was', async () => {
      const level = `select trx_isolation_level as level from information_schema.innodb_trx where trx_mysql_thread_id = connection_id()`;
      expect(await run('insert into numbers values (1)', level)).toEqual([{ level: 'READ COMMITTED' }]);
      expect(await fixture.query('select n from numbers')).toEqual([{ n: 1 }]);
      // MySQL has only the second name, MariaDB before 11.1 only the first.
      const inherited = await run(
        `show variables where variable_name in ('tx_isolation', 'transaction_isolation')`,
      );
      expect(inherited[0]).toMatchObject({ Value: 'REPEATABLE-READ' });
    });

    it('rolls back all of several statements if one fails, and the connection can be used again', async () => {
      await expect(run('insert into numbers values (1)', 'select nonsense')).rejects.toMatchObject({
        code: 'ER_BAD_FIELD_ERROR',
      });
      expect(await run('select n from numbers')).toEqual([]);
    });

    it('a connection that can’t roll back is not used again, and the first error is thrown', async () => {
      const error = await run('insert into numbers values (1)', 'kill connection_id()').catch(
        (caught: Error) => caught,
      );
      expect(String(error)).toMatch(/Connection was killed|execution was interrupted|closed|lost/i);
      expect(await run('select count(*) as n from numbers')).toMatchObject([{ n: expect.anything() }]);
      expect(await fixture.query('select n from numbers')).toEqual([]);
    });
  });
});
