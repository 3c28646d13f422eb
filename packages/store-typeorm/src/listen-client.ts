import { OutboxError } from '@postcommit/core';
import type { ListenClientLike } from '@postcommit/store-sql';
import type { DataSource } from 'typeorm';

/** What TypeORM's PostgreSQL driver has once it is connected. */
interface PostgresDriverLike {
  /** The `pg` module, or what the data source's option `driver` replaces it by. */
  readonly postgres?: { readonly Client?: new (options: object) => ListenClientLike };
  /** The pool of the primary, whether or not there are replicas. */
  readonly master?: { readonly options?: object };
}

/**
 * Creates a client like those of the data source's own pool: TypeORM has made the options of that pool from `url`, `ssl`,
 * `replication`, `extra` and the others.
 *
 * @throws `INVALID_CONFIG` if the data source is closed, or its driver is not `pg`.
 */
export function listenClientOf({ driver }: DataSource): ListenClientLike {
  const { postgres, master } = driver as PostgresDriverLike;
  if (!master?.options) throw noClient('is not initialized');
  if (!postgres?.Client) throw noClient("has a driver without pg's Client");
  // Not a copy of the options: their password is not enumerable.
  return new postgres.Client(master.options);
}

function noClient(why: string): OutboxError {
  return new OutboxError(
    'INVALID_CONFIG',
    `the worker can't open a listener connection, because the data source ${why}; pass listenClient: () => new pg.Client({ … }), or turn this off with wakeup: false`,
  );
}
