import type { Module, OutboxEntry, Token, TransactionalOutboxStore } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import pg from '../../internal/test-database/src/pg.js';

export type StoreName = 'pg' | 'typeorm' | 'prisma';

/** One open business transaction: the order and its message go into it. */
export interface BusinessTransaction {
  query(text: string, values: unknown[]): Promise<unknown>;
  enqueue(entries: readonly OutboxEntry[]): Promise<string[]>;
}

/** A store as an application has it: its module, and transactions on the same connections. */
export interface Subject {
  readonly module: Module;
  readonly storeToken: Token<TransactionalOutboxStore<never>>;
  /** When `work` has resolved, COMMIT is sent; what fails from there on has an unknown result. */
  transaction(
    store: TransactionalOutboxStore<never>,
    work: (tx: BusinessTransaction) => Promise<void>,
  ): Promise<void>;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Only of `pg`: what the application itself may take connections from. */
  readonly pool?: pg.Pool;
  close(): Promise<void>;
}

export interface SubjectOptions {
  readonly url: string;
  /** Where a worker listens, and claims, if that is another way to the same database. Only of `pg`. */
  readonly listenUrl?: string;
  readonly claimTimeoutMs?: number;
  readonly poolSize?: number;
  /** How long the pool waits for a connection. @default forever, as in `pg` */
  readonly connectTimeoutMs?: number;
  /** Called before each statement that goes through the pool. */
  readonly beforeStatement?: (text: string) => Promise<void>;
}

export async function openSubject(name: StoreName, options: SubjectOptions): Promise<Subject> {
  switch (name) {
    case 'pg':
      return pgSubject(options);
    case 'typeorm':
      return (await import('./typeorm-subject.js')).typeormSubject(options);
    case 'prisma':
      return (await import('./prisma-subject.js')).prismaSubject(options);
  }
}

export function pgSubject(options: SubjectOptions): Subject {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    ...(options.connectTimeoutMs !== undefined && { connectionTimeoutMillis: options.connectTimeoutMs }),
  });
  // As every application has it: without it an idle connection that breaks ends the process.
  pool.on('error', () => {});
  if (options.beforeStatement) watchStatements(pool, options.beforeStatement);
  const { claimTimeoutMs, listenUrl } = options;
  return {
    module: OutboxPgModule.forRoot({
      pool,
      ...(claimTimeoutMs !== undefined && { claimTimeoutMs }),
      ...(listenUrl !== undefined && { listenClient: () => new pg.Client({ connectionString: listenUrl }) }),
    }),
    storeToken: PgOutboxStore as unknown as Subject['storeToken'],
    pool,
    transaction: (store, work) => pgTransaction(pool, store, work),
    query: async (text, values = []) => (await pool.query(text, values)).rows,
    close: () => pool.end(),
  };
}

async function pgTransaction(
  pool: pg.Pool,
  store: TransactionalOutboxStore<never>,
  work: (tx: BusinessTransaction) => Promise<void>,
): Promise<void> {
  const onError = (): void => {};
  const client = await checkOut(pool, onError);
  let failure: Error | undefined;
  try {
    await client.query('begin');
    await work({
      query: (text, values) => client.query(text, values),
      enqueue: (entries) => store.enqueueWith(client as never, entries),
    });
    await client.query('commit');
  } catch (error) {
    failure = error as Error;
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.off('error', onError);
    client.release(failure);
  }
}

/**
 * Listens before anything else can happen to the client: a server that is ended may say so in the same packet in which
 * the connection becomes ready, and whoever awaits `connect()` is told only after all of that packet was read.
 */
function checkOut(pool: pg.Pool, onError: () => void): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on('error', onError);
      if (client) resolve(client);
      else reject(error);
    });
  });
}

/** Lets a process stop at a statement: pages of a sweep, steps of a migration. */
function watchStatements(pool: pg.Pool, before: (text: string) => Promise<void>): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const watched = (...args: unknown[]): unknown => {
      const [first] = args;
      const text = typeof first === 'string' ? first : (first as { text: string }).text;
      // A pool's own query hands in a callback; a client's is awaited.
      if (typeof args.at(-1) === 'function') {
        void before(text).then(() => query(...args));
        return undefined;
      }
      return before(text).then(() => query(...args));
    };
    client.query = watched as typeof client.query;
  });
}
