import { nameToken } from '../modules/token.js';
import type { SchemaProblem } from '../observe/schema-problem.js';

/** What {@link OutboxSchema.adopt} would do to a table that is not ours. */
export interface AdoptionPlan {
  /** Why the table is not ours. */
  readonly problem: string;
  /** Rows in the table. All become `dispatched`, because nothing shows which of them were sent. */
  readonly rows: number;
  readonly statements: readonly string[];
  /** False if the database can't roll back the statements after one fails (MariaDB, MySQL). */
  readonly isAtomic: boolean;
  /** What prevents the adoption, each with its fix. Empty when the table can be adopted. */
  readonly obstacles: readonly string[];
}

/** Owns the outbox tables; your ORM does not. */
export abstract class OutboxSchema {
  static {
    nameToken(this, '@postcommit/core/OutboxSchema');
  }

  /** Returns the statements that create the tables in an empty database. */
  abstract print(): string;
  /**
   * Creates or upgrades the tables. Idempotent, and safe when several instances start at once.
   *
   * @throws `FOREIGN_TABLE` if a table of that name exists and is not ours. Nothing is changed.
   */
  abstract ensure(): Promise<void>;
  /** Returns what differs from the tables the store needs; empty when all is well. */
  abstract check(): Promise<SchemaProblem[]>;
  /** Returns what `adopt` would do, without changing anything; undefined if there is no foreign table. */
  planAdoption(): Promise<AdoptionPlan | undefined> {
    return Promise.resolve(undefined);
  }
  /**
   * Turns a foreign table into the outbox. Its rows become `dispatched`, none pending. Does nothing if there is no
   * foreign table.
   *
   * @throws `FOREIGN_TABLE` if something prevents it; `planAdoption` lists the obstacles.
   */
  adopt(): Promise<void> {
    return Promise.resolve();
  }
}
