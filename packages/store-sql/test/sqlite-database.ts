import { createRequire } from 'node:module';
import { runWorkAtOnce, type SqlExecutor, type SqlRecord, type SqlStatement } from '@postcommit/store-sql';

interface SqljsModule {
  readonly Database: new () => SqljsDatabase;
}

interface SqljsDatabase {
  prepare(text: string): {
    bind(values: unknown[]): boolean;
    step(): boolean;
    getAsObject(): Record<string, unknown>;
    free(): boolean;
  };
  close(): void;
}

// sql.js has no types of its own.
const initSqlJs = createRequire(import.meta.url)('sql.js') as () => Promise<SqljsModule>;

/** SQLite in memory, on one connection. */
export class SqliteDatabase {
  readonly #database: SqljsDatabase;

  private constructor(database: SqljsDatabase) {
    this.#database = database;
  }

  static async open(): Promise<SqliteDatabase> {
    const { Database } = await initSqlJs();
    return new SqliteDatabase(new Database());
  }

  /** As the dialect asks for it: every work in a transaction of its own that admits one writer. */
  readonly executor: SqlExecutor<never> = async (work) => {
    this.query('begin immediate');
    try {
      const records = runWorkAtOnce(work, (statement) => this.run(statement));
      this.query('commit');
      return records;
    } catch (error) {
      this.query('rollback');
      throw error;
    }
  };

  run({ text, values }: SqlStatement): SqlRecord[] {
    const statement = this.#database.prepare(text);
    try {
      statement.bind([...values]);
      const records: SqlRecord[] = [];
      while (statement.step()) records.push(statement.getAsObject());
      return records;
    } finally {
      statement.free();
    }
  }

  query(text: string, ...values: unknown[]): SqlRecord[] {
    return this.run({ text, values });
  }

  close(): void {
    this.#database.close();
  }
}
