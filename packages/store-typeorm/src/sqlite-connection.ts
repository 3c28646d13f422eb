import type { SqlRecord, SqlStatement } from '@postcommit/store-sql';

/** A synchronous connection to SQLite. */
export interface SqliteConnection {
  /** Fails if a transaction is open on this connection or another process is writing. Never waits. */
  beginImmediate(): void;
  run(statement: SqlStatement): SqlRecord[];
}

/** The part of a sql.js `Database` that the store uses. */
export interface SqljsDatabaseLike {
  prepare(text: string): {
    bind(values: unknown[]): boolean;
    step(): boolean;
    getAsObject(): Record<string, unknown>;
    free(): boolean;
  };
}

/** The part of a better-sqlite3 `Database` that the store uses. */
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
    /** The driver's busy timeout would block the event loop, so it is switched off for this statement. */
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
