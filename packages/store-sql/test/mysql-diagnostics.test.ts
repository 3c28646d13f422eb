import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { expect, it } from 'vitest';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { useMysql } from './mysql-fixture.js';

describeOnMysql('SqlDiagnostics on MariaDB or MySQL', () => {
  const fixture = useMysql();

  it('a transaction that keeps old row versions is reported with the statement that ends it', async () => {
    const connection = await fixture.pool.getConnection();
    try {
      await connection.query('start transaction with consistent snapshot');
      await connection.query('select count(*) from outbox');
      const { threadId } = connection;
      const diagnostics = new SqlDiagnostics(fixture.executor, { dialect: fixture.dialect });
      const found = await diagnostics.find({ transactionAgeMs: 0 });
      // Other tests have theirs on this server.
      expect(found.filter(({ fix }) => fix === `kill ${threadId};`)).toEqual([
        {
          level: 'tuning',
          problem: expect.stringMatching(
            `^the transaction of connection ${threadId} has been open for \\d+ s and holds back the purge of old row versions$`,
          ),
          fix: `kill ${threadId};`,
        },
      ]);
      const old = await diagnostics.find({ transactionAgeMs: 3_600_000 });
      expect(old.filter(({ fix }) => fix === `kill ${threadId};`)).toEqual([]);
    } finally {
      await connection.query('rollback');
      connection.release();
    }
  });
});
