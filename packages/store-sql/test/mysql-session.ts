import { mysql, type SqlRecord, type SqlStatement } from '@postcommit/store-sql';
import { type Connection, createConnection } from 'mysql2/promise';
import { queryOn } from './mysql-executor.js';
import type { MysqlFixture } from './mysql-fixture.js';
import { SqlSession } from './sql-session.js';

const MAX_POLLS = 2_000;

export class MysqlSession extends SqlSession {
  readonly #fixture: MysqlFixture;
  readonly #connection: Connection;

  private constructor(fixture: MysqlFixture, connection: Connection) {
    super(mysql);
    this.#fixture = fixture;
    this.#connection = connection;
  }

  static async connect(fixture: MysqlFixture, settings: readonly string[] = []): Promise<MysqlSession> {
    const connection = await createConnection({ uri: fixture.url, timezone: 'Z' });
    // A server that cuts the session off is what some tests are about.
    connection.on('error', () => {});
    for (const text of settings) await connection.query(text);
    return new MysqlSession(fixture, connection);
  }

  query(statement: SqlStatement): Promise<SqlRecord[]> {
    return queryOn(this.#connection, statement);
  }

  /** By the server's monitor: `innodb_trx` is a copy that is not made anew while somebody keeps asking. */
  async isBlocked(): Promise<boolean> {
    const [record] = await this.#fixture.query('show engine innodb status');
    const ours = new RegExp(`thread id ${this.#connection.threadId},`);
    return String(record?.Status)
      .split('---TRANSACTION ')
      .some((transaction) => ours.test(transaction) && /^LOCK WAIT /m.test(transaction));
  }

  async kill(): Promise<void> {
    await this.#fixture.query(`kill ${this.#connection.threadId}`);
    for (let poll = 0; poll < MAX_POLLS; poll++) {
      const left = await this.#fixture.query('select 1 from information_schema.processlist where id = ?', [
        this.#connection.threadId,
      ]);
      if (left.length === 0) return;
    }
    throw new Error('the session did not end');
  }

  end(): Promise<void> {
    return this.#connection.end();
  }
}
