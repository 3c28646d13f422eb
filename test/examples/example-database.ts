import { createMysqlTestDatabase } from '@internal/test-database/mysql-test-database';
import type { PostgresServer } from '@internal/test-database/postgres';
import { createTestDatabase } from '@internal/test-database/test-database';
import { createDatabase, databaseUrl } from '../../internal/test-database/src/database-server.js';
import { createConnection } from '../../internal/test-database/src/mysql.js';
import pg from '../../internal/test-database/src/pg.js';

/** The database that an example is handed, and what the test asks it. */
export interface ExampleDatabase {
  readonly url: string;
  /** Pending rows that a process holds. */
  claims(): Promise<number>;
  drop(): Promise<void>;
}

/** A database that can't be restarted, since others use its server. */
export interface CutDatabase extends ExampleDatabase {
  /** Ends all connections but this one. */
  disconnectAll(): Promise<void>;
}

export async function openPostgres(): Promise<ExampleDatabase> {
  const { url, drop } = await createTestDatabase();
  return postgresAt(url, drop);
}

/** A database of its own on a server that the test restarts. */
export async function openPostgresOn(server: PostgresServer, name: string): Promise<ExampleDatabase> {
  await createDatabase(server.url, name);
  return postgresAt(databaseUrl(server.url, name), async () => {});
}

function postgresAt(url: string, drop: () => Promise<void>): ExampleDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  // A restart cuts it; the next query opens another connection.
  pool.on('error', () => {});
  return {
    url,
    claims: async () => {
      const { rows } = await pool.query(`
        select count(*)::int as claims from outbox
        where claim_token is not null and claimed_until > now() and dispatched_at is null and dead_at is null`);
      return rows[0]?.claims;
    },
    drop: async () => {
      await pool.end();
      await drop();
    },
  };
}

export async function openMysql(): Promise<CutDatabase> {
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
