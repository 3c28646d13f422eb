import { createHash } from 'node:crypto';
import type { SqlStatement } from '@postcommit/sql';

/** A query as `pg` takes it; one with a name is parsed and planned once for each connection. */
export interface PgQuery {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

/**
 * What the server says when a connection does not know the statement that the driver prepared on it: `26000` and
 * `42P05` behind a pooler that hands out another connection for each transaction, `0A000` after a column's type
 * changed. All three are said before anything was run.
 */
const UNPREPARED = new Set<unknown>(['26000', '42P05', '0A000']);

/** Prepares statements that are run again and again, until a pooler shows that it can't. */
export class PreparedStatements {
  #isPossible = true;

  /** Hands `work` the way to make a query of a statement; runs it a second time, unprepared, where that is the cure. */
  async run<T>(work: (toQuery: (statement: SqlStatement) => PgQuery) => Promise<T>): Promise<T> {
    if (!this.#isPossible) return work(unprepared);
    try {
      return await work(prepared);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && UNPREPARED.has(error.code))) throw error;
      this.#isPossible = false;
      return work(unprepared);
    }
  }
}

function unprepared({ text, values }: SqlStatement): PgQuery {
  return { text, values: [...values] };
}

function prepared(statement: SqlStatement): PgQuery {
  if (!statement.isRepeated) return unprepared(statement);
  return { ...unprepared(statement), name: nameOf(statement.text) };
}

/** By its text: the same name never means two things on one connection, whatever the table is called. */
function nameOf(text: string): string {
  return `postcommit_${createHash('sha1').update(text).digest('hex')}`;
}
