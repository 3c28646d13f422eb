import { nameToken } from '@postcommit/core/internal';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';

/** A dedicated database session. It can hold state that a pooled one must not, e.g. prepared statements. */
export interface ClaimSession {
  /** Returns undefined, and sends nothing, when the session is busy or has ended. */
  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined;
  /** Called when a settle matched no row of a claim: the session may see a different database than the pool. */
  invalidate(): void;
}

/** The sessions a store may claim in, while they last. A store module binds one instance for its store and its wake-up. */
export class ClaimSessions extends Set<ClaimSession> {
  static {
    nameToken(this, '@postcommit/store-sql/ClaimSessions');
  }
}
