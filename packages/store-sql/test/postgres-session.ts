import { postgres, type SqlRecord, type SqlStatement } from '@postcommit/store-sql';
import pg from 'pg';
import type { PostgresFixture } from './postgres-fixture.js';
import { SqlSession } from './sql-session.js';

export class PostgresSession extends SqlSession {
  readonly #fixture: PostgresFixture;
  readonly #client: pg.Client;
  readonly pid: number;

  private constructor(fixture: PostgresFixture, client: pg.Client, pid: number) {
    super(postgres);
    this.#fixture = fixture;
    this.#client = client;
    this.pid = pid;
  }

  static async connect(fixture: PostgresFixture, settings = ''): Promise<PostgresSession> {
    const client = new pg.Client({ connectionString: fixture.url, options: settings });
    // A server that cuts the session off is what some tests are about.
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new PostgresSession(fixture, client, rows[0]?.pid ?? 0);
  }

  async query({ text, values }: SqlStatement): Promise<SqlRecord[]> {
    return (await this.#client.query(text, [...values])).rows;
  }

  async isBlocked(): Promise<boolean> {
    const [record] = await this.#fixture.query('select cardinality(pg_blocking_pids($1)) > 0 as blocked', [
      this.pid,
    ]);
    return record?.blocked === true;
  }

  async kill(): Promise<void> {
    await this.#fixture.query('select pg_terminate_backend($1, 5000)', [this.pid]);
  }

  end(): Promise<void> {
    return this.#client.end();
  }
}
