import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { describe } from 'vitest';
import { useMysql } from './mysql-fixture.js';
import { usePostgres } from './postgres-fixture.js';
import type { SqlFixture } from './sql-fixture.js';

/** The same tests on every server: what they promise has nothing to do with which one it is. */
export function describeOnDatabases(tests: (fixture: SqlFixture) => void): void {
  describe('on PostgreSQL', () => tests(usePostgres()));
  describeOnMysql('on MariaDB or MySQL', () => tests(useMysql()));
}
