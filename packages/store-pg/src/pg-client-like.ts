import type { ListenClientLike } from '@postcommit/store-sql';

/**
 * A query as `pg` takes it. It has no name, so nothing is prepared: a prepared statement may keep the plan of a small
 * table and scan all of it once it has grown, and transaction poolers may lose prepared statements.
 */
export interface PgQuery {
  readonly text: string;
  readonly values: unknown[];
}

/** The part of a `pg` client that the store uses. Clients of any version and of compatible drivers fit. */
export interface PgClientLike {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** `I`dle, in a `T`ransaction, or in a transaction after an `E`rror. Only in newer versions of `pg`; no round trip. */
  getTransactionStatus?(): string | null;
  /** Only a pool has this, and a pool is not a transaction. */
  totalCount?: 'Pass the client that ran BEGIN, not the pool';
}

/** The part of a checked-out client that the store uses. */
export interface PgPoolClientLike {
  query(query: string | PgQuery): Promise<{ rows: Record<string, unknown>[] }>;
  release(error?: Error | boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** The client that listeners of the pool's `acquire` event receive. */
export type PgClientEvents = Pick<PgPoolClientLike, 'on'>;

/** The part of a `pg` pool that the store uses. */
export interface PgPoolLike {
  query(query: PgQuery): Promise<{ rows: Record<string, unknown>[] }>;
  /** Called with a callback. A `pg` pool then returns nothing; other pools may ignore the callback and return a promise. */
  connect(
    callback?: (error: Error | undefined, client: PgPoolClientLike | undefined) => void,
  ): Promise<PgPoolClientLike>;
  /** `error` is emitted when an idle connection breaks, `acquire` when a client is checked out. Optional. */
  readonly on?: {
    (event: 'error', listener: (error: Error) => void): unknown;
    (event: 'acquire', listener: (client: PgClientEvents) => void): unknown;
  };
  /** With `options`, enough to create the listener connection outside the pool. A `pg` pool has both. */
  readonly Client?: new (
    options: object,
  ) => ListenClientLike;
  readonly options?: object;
  /** How many connections are idle. A pool without it keeps silent ones until a statement meets them. */
  readonly idleCount?: number;
}
