import { createRequire } from 'node:module';
import { OutboxError } from '@postcommit/core';
import type { ListenClientLike } from '@postcommit/store-sql';

export interface ListenOptions {
  readonly connectionString?: string | undefined;
  readonly listenClient?: (() => ListenClientLike) | undefined;
}

interface PgLike {
  readonly Client: new (options: { connectionString: string }) => ListenClientLike;
}

const load = createRequire(import.meta.url);

/**
 * Returns how to create listener connections; undefined if there is none. Loads `pg` only for a `connectionString`.
 *
 * @throws `INVALID_CONFIG`
 */
export function listenClientFor({ connectionString, listenClient }: ListenOptions): typeof listenClient {
  if (connectionString === undefined) return listenClient;
  if (listenClient) throw invalid('takes connectionString or listenClient, not both');
  // The error does not show the address: it may hold a password.
  if (!/^postgres(ql)?:\/\//i.test(connectionString))
    throw invalid('needs a connectionString that begins with postgres:// or postgresql://');
  const { Client } = loadPg();
  return () => new Client({ connectionString });
}

function loadPg(): PgLike {
  try {
    return load('pg');
  } catch (cause) {
    throw invalid('needs the package pg for connectionString: npm install pg', cause);
  }
}

function invalid(problem: string, cause?: unknown): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxPrismaModule ${problem}`, { cause });
}
