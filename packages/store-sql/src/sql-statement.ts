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
 * caller's transaction, which the executor neither begins nor ends.
 */
export type SqlExecutor<Tx> = (work: SqlWork, tx?: Tx) => Promise<SqlRecord[]>;
