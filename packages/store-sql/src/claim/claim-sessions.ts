import { nameToken } from '@postcommit/core';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';

/** A dedicated database session. It can hold state that a pooled one must not, e.g. prepared statements. */
export interface ClaimSession {
  /** Returns undefined, and sends nothing, when the session is busy or has ended. */
  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined;
  /** Called when a settle matched no row of a claim: the session may see a different database than the pool. */
  invalidate(): void;
}

/** The sessions a store may claim in, while they last. A store module binds one instance for its store and its wake-up. */
export class ClaimSessions {
  static {
    nameToken(this, '@postcommit/store-sql/ClaimSessions');
  }

  readonly #sessions = new Set<ClaimSession>();

  /** Returns a function that removes the session again. */
  add(session: ClaimSession): () => void {
    this.#sessions.add(session);
    return () => this.#sessions.delete(session);
  }

  /** Claims in the first free session; returns undefined when none is free. */
  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined {
    for (const session of this.#sessions) {
      const claiming = session.claim(statement);
      if (claiming) return claiming;
    }
    return undefined;
  }

  /** After a failover, for example, the pool may be on a different server than a session opened before it. */
  invalidate(): void {
    for (const session of this.#sessions) session.invalidate();
  }
}
