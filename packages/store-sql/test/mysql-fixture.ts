import { createMysqlTestDatabase } from '@internal/test-database/mysql-test-database';
import type { TestDatabase } from '@internal/test-database/test-database';
import { mysql, SqlOutboxSchema, TableName } from '@postcommit/store-sql';
import { createPool, type Pool } from 'mysql2/promise';
import { afterAll, beforeAll } from 'vitest';
import { mysqlExecutor, queryOn } from './mysql-executor.js';
import { MysqlSession } from './mysql-session.js';
import { SIDE_TIMES, type SqlFixture, TIMES } from './sql-fixture.js';

export interface MysqlFixture extends SqlFixture {
  readonly url: string;
  readonly pool: Pool;
}

/** As `usePostgres`; inside `describeOnMysql` only. */
export function useMysql(
  prepare: (fixture: MysqlFixture) => Promise<void> = ensureMysqlSchema,
): MysqlFixture {
  let database: TestDatabase | undefined;
  let pool: Pool | undefined;
  const fixture: MysqlFixture = {
    dialect: mysql,
    table: new TableName({}, mysql.quote),
    now: 'utc_timestamp(6)',
    get url() {
      if (!database) throw new Error('the database is there only while tests run');
      return database.url;
    },
    get pool() {
      if (!pool) throw new Error('the pool is there only while tests run');
      return pool;
    },
    get executor() {
      return mysqlExecutor(fixture.pool);
    },
    query: (text, values = []) => queryOn(fixture.pool, { text, values }),
    connect: ({ lockTimeoutMs } = {}) =>
      MysqlSession.connect(
        fixture,
        lockTimeoutMs === undefined
          ? []
          : [`set innodb_lock_wait_timeout = ${Math.max(1, Math.ceil(lockTimeoutMs / 1_000))}`],
      ),
    clear: async () => {
      await fixture.query('truncate table outbox');
      for (const table of Object.keys(SIDE_TIMES)) await fixture.query(`delete from ${table}`);
    },
    shiftTimes: async (ms) => {
      for (const [table, times] of Object.entries({ outbox: TIMES, ...SIDE_TIMES })) {
        const shifted = times.map((column) => `${column} = ${column} - interval ${ms * 1_000} microsecond`);
        await fixture.query(`update ${table} set ${shifted.join(', ')}`);
      }
    },
  };
  beforeAll(async () => {
    database = await createMysqlTestDatabase();
    pool = createPool({ uri: database.url, timezone: 'Z', connectionLimit: 20 });
    // Long enough for every wait that ends; the default lets a test hang for a minute.
    pool.on('connection', (connection) => connection.query('set innodb_lock_wait_timeout = 5'));
    await prepare(fixture);
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });
  return fixture;
}

export async function ensureMysqlSchema({ executor, dialect }: MysqlFixture): Promise<void> {
  await new SqlOutboxSchema(executor, { dialect }).ensure();
}
