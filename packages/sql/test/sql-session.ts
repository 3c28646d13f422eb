import { randomUUID } from 'node:crypto';
import type { NewRow } from '@postcommit/core';
import {
  type Claim,
  type KeyedClaim,
  postgres,
  type SqlRecord,
  type SqlStatement,
  TableName,
} from '@postcommit/sql';
import pg from 'pg';
import type { PostgresFixture } from './postgres-fixture.js';

export const TABLE = new TableName();
const HOUR_MS = 3_600_000;
const MAX_POLLS = 2_000;

/** One database session whose transactions the test begins and ends itself. */
export class SqlSession {
  readonly #client: pg.Client;
  readonly pid: number;

  private constructor(client: pg.Client, pid: number) {
    this.#client = client;
    this.pid = pid;
  }

  static async connect(url: string, settings = ''): Promise<SqlSession> {
    const client = new pg.Client({ connectionString: url, options: settings });
    // A server that cuts the session off is what some tests are about.
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new SqlSession(client, rows[0]?.pid ?? 0);
  }

  async run({ text, values }: SqlStatement): Promise<SqlRecord[]> {
    return (await this.#client.query(text, [...values])).rows;
  }

  sql(text: string, values: unknown[] = []): Promise<SqlRecord[]> {
    return this.run({ text, values });
  }

  async begin(): Promise<void> {
    await this.sql('begin isolation level read committed');
  }

  async commit(): Promise<void> {
    await this.sql('commit');
  }

  async rollback(): Promise<void> {
    await this.sql('rollback');
  }

  end(): Promise<void> {
    return this.#client.end();
  }
}

/** The rows of a claim, without the record that carries only what the claim saw. */
export function claimedIds(records: readonly SqlRecord[]): string[] {
  return records
    .filter(({ id }) => id !== null)
    .sort((a, b) => Number(a.seq) - Number(b.seq))
    .map(({ id }) => String(id));
}

export function claimOf(options: Partial<KeyedClaim> = {}): Claim & KeyedClaim {
  return {
    token: randomUUID(),
    timeoutMs: HOUR_MS,
    limit: 10,
    mayRetake: true,
    window: 500,
    perKey: 10,
    after: undefined,
    ...options,
  };
}

export function newRow(id: string, key?: string): NewRow {
  return { id, topic: 't', payload: '{}', ...(key !== undefined && { key }) };
}

export function insertRows(rows: readonly NewRow[]): SqlStatement {
  return postgres.insert(TABLE, rows);
}

/** Resolves when the session waits for a lock that another one holds; polls the server's lock table, bounded. */
export async function untilBlocked(fixture: PostgresFixture, session: SqlSession): Promise<void> {
  for (let poll = 0; poll < MAX_POLLS; poll++) {
    const [record] = await fixture.query('select cardinality(pg_blocking_pids($1)) > 0 as blocked', [
      session.pid,
    ]);
    if (record?.blocked === true) return;
  }
  throw new Error(`session ${session.pid} never waited for a lock`);
}
