import { OutboxError } from '@postcommit/core';
import {
  runWork,
  type SqlExecutor,
  type SqlRecord,
  type SqlWork,
  type StatementBound,
} from '@postcommit/store-sql';
import type {
  PrismaClientLike,
  PrismaTransactionLike,
  PrismaTransactionOptions,
} from './prisma-client-like.js';

/** Prisma's error code for a transaction that was committed, rolled back or timed out. */
const TRANSACTION_CLOSED = 'P2028';

/**
 * Prisma's default limit is 5 seconds. A schema upgrade of a large table takes longer, and the server already bounds a
 * claim that waits for a lock.
 */
const TRANSACTION: PrismaTransactionOptions = {
  isolationLevel: 'ReadCommitted',
  maxWait: 30_000,
  timeout: 3_600_000,
};

/** Runs statements on a client, or on the client of the caller's transaction. */
export function prismaExecutor(client: PrismaClientLike): SqlExecutor<PrismaTransactionLike> {
  return async (work, tx, bound) => {
    if (tx) return runInTransaction(tx, work);
    if (typeof work !== 'function') return client.$queryRawUnsafe(work.text, ...work.values);
    return client.$transaction(
      (own: PrismaTransactionLike) => runOn(own, work, bound?.signal),
      bound ? boundedTransaction(bound) : TRANSACTION,
    );
  };
}

/** The client of Prisma can't close a connection. It can only end a transaction, some time after we gave it up. */
function boundedTransaction({ serverMs }: StatementBound): PrismaTransactionOptions {
  return { ...TRANSACTION, timeout: 2 * serverMs };
}

async function runInTransaction(tx: PrismaTransactionLike, work: SqlWork): Promise<SqlRecord[]> {
  try {
    return await runOn(tx, work);
  } catch (error) {
    throw closedTransactionError(error) ?? error;
  }
}

function runOn(tx: PrismaTransactionLike, work: SqlWork, signal?: AbortSignal): Promise<SqlRecord[]> {
  return runWork(work, async ({ text, values }) => {
    signal?.throwIfAborted();
    return (await tx.$queryRawUnsafe(text, ...values)) as SqlRecord[];
  });
}

/** Prisma detects an ended transaction without a round trip, but only when a statement is run. */
function closedTransactionError(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== TRANSACTION_CLOSED) return undefined;
  return new OutboxError(
    'INVALID_TRANSACTION',
    'the Prisma transaction has already ended, so nothing was stored; await everything inside its callback, and raise its timeout if it timed out',
    { cause: error },
  );
}
