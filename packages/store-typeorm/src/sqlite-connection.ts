import type { SqlRecord, SqlStatement } from '@postcommit/store-sql';

/** A connection to SQLite that answers at once. */
export interface SqliteConnection {
  /** Fails when a transaction is open on this connection, or when another process writes; it never waits. */
  beginImmediate(): void;
  run(statement: SqlStatement): SqlRecord[];
}

/** What we call of a `Database` of sql.js. */
export interface SqljsDatabaseLike {
  prepare(text: string): {
    bind(values: unknown[]): boolean;
    step(): boolean;
    getAsObject(): Record<string, unknown>;
    free(): boolean;
  };
}

/** What we call of a `Database` of better-sqlite3. */
export interface BetterSqlite3DatabaseLike {
  prepare(text: string): {
    readonly reader: boolean;
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): unknown;
  };
}

export function sqljsConnection(database: SqljsDatabaseLike): SqliteConnection {
  const run = ({ text, values }: SqlStatement): SqlRecord[] => {
    const statement = database.prepare(text);
    try {
      statement.bind([...values]);
      const records: SqlRecord[] = [];
      while (statement.step()) records.push(statement.getAsObject());
      return records;
    } finally {
      statement.free();
    }
  };
  return { run, beginImmediate: () => void run(statementOf('begin immediate')) };
}

export function betterSqlite3Connection(database: BetterSqlite3DatabaseLike): SqliteConnection {
  const run = ({ text, values }: SqlStatement): SqlRecord[] => {
    const statement = database.prepare(text);
    if (statement.reader) return statement.all(...values) as SqlRecord[];
    statement.run(...values);
    return [];
  };
  return {
    run,
    /** The driver's own wait for another process stops the whole event loop, so it is put off for this statement. */
    beginImmediate: () => {
      const [record] = run(statementOf('pragma busy_timeout'));
      run(statementOf('pragma busy_timeout = 0'));
      try {
        run(statementOf('begin immediate'));
      } finally {
        run(statementOf(`pragma busy_timeout = ${Number(record?.timeout)}`));
      }
    },
  };
}

export function statementOf(text: string): SqlStatement {
  return { text, values: [] };
}
