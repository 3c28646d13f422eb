import { nameToken } from '../modules/token.js';
import type { SchemaProblem } from '../observe/schema-problem.js';

/** What {@link OutboxSchema.adopt} would do to a table that is not ours. */
export interface AdoptionPlan {
  /** Why the table is not ours. */
  readonly problem: string;
  /** Rows in the table. Each ends `dispatched`: nothing can tell which of them were sent. */
  readonly rows: number;
  readonly statements: readonly string[];
  /** False where the database can't undo the statements before one that fails (MariaDB, MySQL). */
  readonly isAtomic: boolean;
  /** What keeps the table from being adopted, each with its cure. Empty when it can be. */
  readonly obstacles: readonly string[];
}

/** Owns the outbox tables; your ORM does not. */
export abstract class OutboxSchema {
  static {
    nameToken(this, '@postcommit/core/OutboxSchema');
  }

  /** The statements that make an empty database ready. */
  abstract print(): string;
  /**
   * Creates or upgrades the tables. Safe to repeat, and safe when two instances start at once.
   *
   * @throws `FOREIGN_TABLE` when a table of that name exists that is not ours: nothing is changed.
   */
  abstract ensure(): Promise<void>;
  /** What differs from what the store needs; empty when all is well. */
  abstract check(): Promise<SchemaProblem[]>;
  /** What `adopt` would do; undefined when there is no foreign table. Changes nothing. */
  planAdoption(): Promise<AdoptionPlan | undefined> {
    return Promise.resolve(undefined);
  }
  /**
   * Turns a foreign table into the outbox. Its rows end `dispatched`; none becomes pending. Does nothing when there is
   * no foreign table.
   *
   * @throws `FOREIGN_TABLE` when something is in the way; `planAdoption` lists it.
   */
  adopt(): Promise<void> {
    return Promise.resolve();
  }
}
