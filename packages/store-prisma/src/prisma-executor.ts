import { OutboxError } from '@postcommit/core';
import { runWork, type SqlExecutor, type SqlRecord, type SqlWork } from '@postcommit/store-sql';
import type {
  PrismaClientLike,
  PrismaTransactionLike,
  PrismaTransactionOptions,
} from './prisma-client-like.js';

/** Prisma's code for a transaction that was committed, rolled back or cut off. */
const TRANSACTION_CLOSED = 'P2028';

/**
 * Prisma gives up on a transaction after 5 seconds by default: a schema upgrade of a large table takes longer, and
 * a claim that waits for its turn is bounded by the server.
 */
const TRANSACTION: PrismaTransactionOptions = {
  isolationLevel: 'ReadCommitted',
  maxWait: 30_000,
  timeout: 3_600_000,
};

/** Runs statements on a client, or on the handle of the caller's transaction. */
export function prismaExecutor(client: PrismaClientLike): SqlExecutor<PrismaTransactionLike> {
  return async (work, tx) => {
    if (tx) return runInTransaction(tx, work);
    if (typeof work !== 'function') return client.$queryRawUnsafe(work.text, ...work.values);
    return client.$transaction((own: PrismaTransactionLike) => runOn(own, work), TRANSACTION);
  };
}

async function runInTransaction(tx: PrismaTransactionLike, work: SqlWork): Promise<SqlRecord[]> {
  try {
    return await runOn(tx, work);
  } catch (error) {
    throw closedTransactionError(error) ?? error;
  }
}

function runOn(tx: PrismaTransactionLike, work: SqlWork): Promise<SqlRecord[]> {
  return runWork(
    work,
    async ({ text, values }) => (await tx.$queryRawUnsafe(text, ...values)) as SqlRecord[],
  );
}

/** The client knows it without a round trip, but says so only when it is asked to run something. */
function closedTransactionError(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== TRANSACTION_CLOSED) return undefined;
  return new OutboxError(
    'INVALID_TRANSACTION',
    'the Prisma transaction has ended already, so nothing was stored; await everything inside its callback, and raise its timeout if it ran out',
    { cause: error },
  );
}
