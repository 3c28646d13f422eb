/** A statement as a value, which can be read, compared and tested without a database. */
export interface SqlStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A record as a driver returns it. */
export type SqlRecord = Readonly<Record<string, unknown>>;

/**
 * The statements of one transaction, each built from the records of those before it. The error of a failed statement
 * is thrown at its `yield`.
 */
export type SqlSteps<Result = readonly SqlRecord[]> = Generator<SqlStatement, Result, readonly SqlRecord[]>;

/** One statement, or a function that returns the steps of one transaction, so that they can be run again. */
export type SqlWork = SqlStatement | (() => SqlSteps);

/**
 * Runs work on a driver. This is all that a store for another driver has to implement; `runWork` runs the steps.
 *
 * A single statement runs on its own; steps run in one READ COMMITTED transaction. With `tx`, both run inside the
 * caller's transaction, which the executor neither begins nor ends. With `bound`, never beside `tx`, the work is given up
 * after some seconds. An executor that ignores it keeps a silent connection in its pool.
 */
export type SqlExecutor<Tx> = (work: SqlWork, tx?: Tx, bound?: StatementBound) => Promise<SqlRecord[]>;

/** For how long work is wanted. */
export interface StatementBound {
  /** Tell the server to end each statement after this, if that costs no round trip. */
  readonly serverMs: number;
  /** Aborts when nobody waits for the work any more: close its connection, or don't take one. */
  readonly signal: AbortSignal;
}
