import type { SqlExecutor, SqlRecord, SqlStatement } from '@postcommit/sql';
import type { PgClientLike, PgPoolClientLike, PgPoolLike } from './pg-client-like.js';
import { type PgQuery, PreparedStatements } from './prepared-statements.js';

/** Runs statements on a pool, or on the client of the caller's transaction. */
export function pgExecutor(pool: PgPoolLike): SqlExecutor<PgClientLike> {
  const prepared = new PreparedStatements();
  return async (statements, tx) => {
    // Not prepared: where that fails, it would take the caller's transaction along.
    if (tx) return runAll(({ text, values }) => tx.query(text, [...values]), statements);
    return prepared.run((toQuery) =>
      statements.length > 1
        ? inTransaction(pool, statements, toQuery)
        : runAll((statement) => pool.query(toQuery(statement)), statements),
    );
  };
}

async function inTransaction(
  pool: PgPoolLike,
  statements: readonly SqlStatement[],
  toQuery: (statement: SqlStatement) => PgQuery,
): Promise<SqlRecord[]> {
  const client = await pool.connect();
  // A pool does not listen while a client is out, and an error event that nobody hears ends the process. What is
  // wrong reaches us through the next query too.
  client.on('error', ignore);
  try {
    await client.query('begin isolation level read committed');
    const records = await runAll((statement) => client.query(toQuery(statement)), statements);
    await client.query('commit');
    release(client);
    return records;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/** A connection that can't even roll back is closed, not given to the next one. */
async function rollBack(client: PgPoolClientLike): Promise<void> {
  try {
    await client.query('rollback');
    release(client);
  } catch {
    release(client, true);
  }
}

function release(client: PgPoolClientLike, isBroken = false): void {
  client.off('error', ignore);
  client.release(isBroken);
}

function ignore(): void {}

async function runAll(
  run: (statement: SqlStatement) => Promise<{ rows: SqlRecord[] }>,
  statements: readonly SqlStatement[],
): Promise<SqlRecord[]> {
  let rows: SqlRecord[] = [];
  for (const statement of statements) rows = (await run(statement)).rows;
  return rows;
}
