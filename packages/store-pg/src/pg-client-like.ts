import type { ListenClientLike } from '@postcommit/store-sql';

/**
 * A query as `pg` takes it. None has a name: a statement that is prepared on a connection keeps the plan that it got
 * while the table was small, and would read all of it when it has grown; and poolers forget what was prepared.
 */
export interface PgQuery {
  readonly text: string;
  readonly values: unknown[];
}

/** The methods of a `pg` client that we call: any version's client, and those of compatible drivers, fit. */
export interface PgClientLike {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** Newer versions of `pg` know it without a round trip: I(dle), in a T(ransaction), E(rror). */
  getTransactionStatus?(): string | null;
  /** Only a pool has this, and a pool is not a transaction. */
  totalCount?: 'Pass the client that ran BEGIN, not the pool';
}

export interface PgPoolClientLike {
  query(query: string | PgQuery): Promise<{ rows: Record<string, unknown>[] }>;
  release(error?: Error | boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** What a pool hands to listeners of `acquire`. */
export type PgClientEvents = Pick<PgPoolClientLike, 'on'>;

/** The methods of a `pg` pool that we call. */
export interface PgPoolLike {
  query(query: PgQuery): Promise<{ rows: Record<string, unknown>[] }>;
  /** Called with a callback: a pool of `pg` then answers by it and returns nothing, others may ignore it. */
  connect(
    callback?: (error: Error | undefined, client: PgPoolClientLike | undefined) => void,
  ): Promise<PgPoolClientLike>;
  /** Idle connections that break, and clients that are checked out. A pool without events is fine. */
  readonly on?: {
    (event: 'error', listener: (error: Error) => void): unknown;
    (event: 'acquire', listener: (client: PgClientEvents) => void): unknown;
  };
  /** What a pool of `pg` makes its clients of: enough for one more, outside the pool, that listens. */
  readonly Client?: new (
    options: object,
  ) => ListenClientLike;
  readonly options?: object;
}
