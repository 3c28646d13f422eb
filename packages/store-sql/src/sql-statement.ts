/** A statement as a value: it can be read, compared and tested without a database. */
export interface SqlStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A record as a driver gives it. */
export type SqlRecord = Readonly<Record<string, unknown>>;

/**
 * The statements of one transaction, each made from the records of those before it. What a statement fails with is
 * thrown where it was yielded.
 */
export type SqlSteps<Result = readonly SqlRecord[]> = Generator<SqlStatement, Result, readonly SqlRecord[]>;

/** One statement, or the steps of one transaction: as a function, so that they can be taken again. */
export type SqlWork = SqlStatement | (() => SqlSteps);

/**
 * How work is run: all that a store on another driver has to say; `runWork` takes the steps.
 *
 * A statement runs on its own, steps run in one READ COMMITTED transaction. With `tx`, both run inside the caller's
 * transaction, which is neither begun nor ended.
 */
export type SqlExecutor<Tx> = (work: SqlWork, tx?: Tx) => Promise<SqlRecord[]>;
