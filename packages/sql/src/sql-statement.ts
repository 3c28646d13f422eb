/** A statement as a value: it can be read, compared and tested without a database. */
export interface SqlStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Run again and again with the same text: a driver that can prepare it saves parsing and planning. */
  readonly isRepeated?: true;
}

/** A record as a driver gives it. */
export type SqlRecord = Readonly<Record<string, unknown>>;

/**
 * How statements are run: all that a store on another driver has to say.
 *
 * One statement runs on its own. Several run in one READ COMMITTED transaction, in order, and only the last one's
 * records are given. With `tx`, they run inside the caller's transaction, which is neither begun nor ended.
 */
export type SqlExecutor<Tx> = (statements: readonly SqlStatement[], tx?: Tx) => Promise<SqlRecord[]>;
