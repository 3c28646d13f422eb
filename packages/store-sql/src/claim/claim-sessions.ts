import { nameToken } from '@postcommit/core';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';

/** A session of its own on the server: it may keep what a pool must not, prepared statements for one. */
export interface ClaimSession {
  /** Undefined when it is busy or has ended: nothing was sent then. */
  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined;
  /** Nothing of a claim was found when it was settled: whatever this session sees has to be proven anew. */
  doubt(): void;
}

/** The sessions that a store may claim in, while they last. A store module binds one for its store and its wake-up. */
export class ClaimSessions {
  static {
    nameToken(this, '@postcommit/store-sql/ClaimSessions');
  }

  readonly #lent = new Set<ClaimSession>();

  /** The returned function takes it back. */
  lend(session: ClaimSession): () => void {
    this.#lent.add(session);
    return () => this.#lent.delete(session);
  }

  /** In the first session that is free. */
  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined {
    for (const session of this.#lent) {
      const claiming = session.claim(statement);
      if (claiming) return claiming;
    }
    return undefined;
  }

  /** After a failover, say, a pool may speak to another server than a session that was opened before. */
  doubt(): void {
    for (const session of this.#lent) session.doubt();
  }
}
