import { nameToken } from '../modules/token.js';

export interface SchemaProblem {
  /** `required`: the store can't work with this, and start refuses. `tuning`: it works, but badly. */
  readonly level: 'required' | 'tuning';
  /** Stable. `FOREIGN_TABLE`: a table has the outbox's name, but is not an outbox of ours. */
  readonly code?: 'FOREIGN_TABLE';
  readonly problem: string;
  /** The statements that fix it, or how to fix it as an SQL comment. */
  readonly fix: string;
}

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

export interface DiagnosticLimits {
  /** A transaction that has been open for longer is worth telling. */
  readonly transactionAgeMs: number;
}

/** What harms the outbox at present without being a matter of its table. */
export abstract class OutboxDiagnostics {
  static {
    nameToken(this, '@postcommit/core/OutboxDiagnostics');
  }

  /** Empty when all is well. */
  abstract find(limits: DiagnosticLimits): Promise<SchemaProblem[]>;
}

/** The right to run a job alone among all instances, for a while. */
export interface HeldLock {
  /** False when the lock was lost: stop working. */
  renew(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

/** A lock with a time to live by the database's clock, fenced by a token of its own. */
export abstract class JobLock {
  static {
    nameToken(this, '@postcommit/core/JobLock');
  }

  /** Undefined when another instance holds it. */
  abstract acquire(name: string, ttlMs: number): Promise<HeldLock | undefined>;
}

/** Whether hints arrive at present. */
export type WakeupStatus =
  | { readonly isListening: true }
  | {
      readonly isListening: false;
      readonly error: unknown;
      /** False when it can never work here, behind a transaction pooler for one. */
      readonly willRetry: boolean;
    };

export interface WakeupListener {
  /** Rows were enqueued; the transaction that did may not have committed yet. */
  onHint(): void;
  onStatus(status: WakeupStatus): void;
}

/** Tells that rows were enqueued, in whatever process. Only a hint: lateness is bounded by polling. */
export abstract class OutboxWakeup {
  static {
    nameToken(this, '@postcommit/core/OutboxWakeup');
  }

  /**
   * Begins to listen and returns at once: what becomes of it, also when the connection is lost and comes back, goes to
   * `onStatus`. The returned function ends it; after that nothing is called and no connection or timer remains.
   */
  abstract subscribe(listener: WakeupListener): () => Promise<void>;
}

/**
 * Something that drives the dispatcher instead of the worker: a scheduler module binds it, and `app.start()` then
 * leaves the worker alone.
 */
export abstract class OutboxDriver {
  static {
    nameToken(this, '@postcommit/core/OutboxDriver');
  }

  abstract readonly name: string;
}

/** Makes a consumer idempotent: it remembers, in the consumer's own transaction, which rows were processed. */
export abstract class ProcessedMessages<Tx = unknown> {
  static {
    nameToken(this, '@postcommit/core/ProcessedMessages');
  }

  /** Runs `handler` unless this consumer processed the row before. Gives whether it ran. */
  abstract processOnce(
    tx: Tx,
    consumer: string,
    rowId: string,
    handler: () => Promise<void>,
  ): Promise<boolean>;
  /** Forgets what was processed longer ago than any duplicate can come. Gives how many. */
  abstract purge(olderThan: { readonly ageMs: number }): Promise<number>;
}
