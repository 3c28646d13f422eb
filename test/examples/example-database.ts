import { createMysqlTestDatabase } from '@internal/test-database/mysql-test-database';
import { createTestDatabase } from '@internal/test-database/test-database';
import { createConnection } from '../../internal/test-database/src/mysql.js';
import pg from '../../internal/test-database/src/pg.js';

/** The database that an example is handed, and what the test asks it. */
export interface ExampleDatabase {
  readonly url: string;
  /** Pending rows that a process holds. */
  claims(): Promise<number>;
  /** Ends all connections but this one, as a restart does. */
  disconnectAll(): Promise<void>;
  drop(): Promise<void>;
}

export async function openPostgres(): Promise<ExampleDatabase> {
  const { url, drop } = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return {
    url,
    claims: async () => {
      const { rows } = await pool.query(`
        select count(*)::int as claims from outbox
        where claim_token is not null and claimed_until > now() and dispatched_at is null and dead_at is null`);
      return rows[0]?.claims;
    },
    disconnectAll: async () => {
      await pool.query(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
    },
    drop: async () => {
      await pool.end();
      await drop();
    },
  };
}

export async function openMysql(): Promise<ExampleDatabase> {
  const { url, drop } = await createMysqlTestDatabase();
  const connection = await createConnection(url);
  return {
    url,
    claims: async () => {
      const [rows] = await connection.query(`
        select count(*) as claims from outbox
        where claim_token is not null and dispatched_at is null and dead_at is null`);
      return (rows as { claims: number }[])[0]?.claims ?? 0;
    },
    disconnectAll: async () => {
      const [rows] = await connection.query(
        'select id from information_schema.processlist where db = database() and id <> connection_id()',
      );
      for (const { id } of rows as { id: number }[]) await connection.query(`kill ${Number(id)}`);
    },
    drop: async () => {
      await connection.end();
      await drop();
    },
  };
}
