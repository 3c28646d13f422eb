import { OutboxError } from '@postcommit/core';
import type { PgPoolLike } from './pg-client-like.js';

const SCHEMES = ['postgres', 'postgresql', 'pg', 'socket'];

/**
 * Checks at run time what the types can't: that this is a pool, and one for PostgreSQL. Nothing connects before it.
 *
 * @throws `INVALID_CONFIG`
 */
export function assertPool(pool: PgPoolLike): void {
  const found = foundInsteadOfPool(pool);
  if (found !== undefined) {
    const problem = `the pg store needs a pool, got ${found}; pass pool: new pg.Pool({ connectionString })`;
    throw new OutboxError('INVALID_CONFIG', problem);
  }
  assertPostgres(pool);
}

function foundInsteadOfPool(pool: unknown): string | undefined {
  if (pool === undefined || pool === null) return String(pool);
  if (typeof pool !== 'object') return `a ${typeof pool}`;
  if ('connectionParameters' in pool) return 'a single pg Client';
  const isPool = ['query', 'connect'].every((name) => typeof Reflect.get(pool, name) === 'function');
  return isPool ? undefined : 'an object without query() and connect()';
}

/** The error shows the scheme only: the rest of an address may hold a password. */
function assertPostgres({ options }: PgPoolLike): void {
  const address: unknown = options && Reflect.get(options, 'connectionString');
  const [, scheme] = /^([a-z][a-z0-9+.-]{0,30}):\/\//i.exec(typeof address === 'string' ? address : '') ?? [];
  if (scheme === undefined || SCHEMES.includes(scheme.toLowerCase())) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the pool's connectionString is a ${scheme.toLowerCase()}:// address; the pg store needs postgres://. For MySQL, MariaDB and SQLite use OutboxTypeormModule of @postcommit/store-typeorm`,
  );
}
