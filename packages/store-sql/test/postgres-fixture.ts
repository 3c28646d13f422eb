import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { postgres, SqlOutboxSchema } from '@postcommit/store-sql';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { PostgresSession } from './postgres-session.js';
import { SIDE_TIMES, type SqlFixture, type SqlStores, TIMES } from './sql-fixture.js';
import { TABLE } from './sql-session.js';

export interface PostgresFixture extends SqlFixture {
  readonly url: string;
  readonly pool: pg.Pool;
}

export type PostgresStores<Tx> = SqlStores<PostgresFixture, Tx>;

/** Registers the life of the database with vitest; use what it returns inside tests only. */
export function usePostgres(
  prepare: (fixture: PostgresFixture) => Promise<void> = ensureSchema,
): PostgresFixture {
  let database: TestDatabase | undefined;
  let pool: pg.Pool | undefined;
  const fixture: PostgresFixture = {
    dialect: postgres,
    table: TABLE,
    now: 'clock_timestamp()',
    get url() {
      if (!database) throw new Error('the database is there only while tests run');
      return database.url;
    },
    get pool() {
      if (!pool) throw new Error('the pool is there only while tests run');
      return pool;
    },
    get executor() {
      return pgExecutor(fixture.pool);
    },
    query: async (text, values = []) => (await fixture.pool.query(text, values)).rows,
    connect: ({ lockTimeoutMs } = {}) =>
      PostgresSession.connect(fixture, lockTimeoutMs === undefined ? '' : `-c lock_timeout=${lockTimeoutMs}`),
    clear: async () => {
      await fixture.query('truncate outbox, outbox_workers, outbox_paused restart identity');
    },
    shiftTimes: (ms) => shiftTimes(fixture, ms),
  };
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 20 });
    await prepare(fixture);
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });
  return fixture;
}

export async function ensureSchema({ pool }: Pick<PostgresFixture, 'pool'>): Promise<void> {
  await new SqlOutboxSchema(pgExecutor(pool)).ensure();
}

export async function shiftTimes({ query }: Pick<PostgresFixture, 'query'>, ms: number): Promise<void> {
  for (const [table, times] of Object.entries({ outbox: TIMES, ...SIDE_TIMES })) {
    const shifted = times.map((column) => `${column} = ${column} - $1::float8 * interval '1 millisecond'`);
    await query(`update ${table} set ${shifted.join(', ')}`, [ms]);
  }
}
