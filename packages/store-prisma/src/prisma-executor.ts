import { OutboxError } from '@postcommit/core';
import type { SqlExecutor, SqlRecord, SqlStatement } from '@postcommit/sql';
import type { PrismaBatchOptions, PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';

/** Prisma's code for a transaction that was committed, rolled back or cut off. */
const TRANSACTION_CLOSED = 'P2028';

/**
 * Prisma gives up on a transaction after 5 seconds by default: a schema upgrade of a large table takes longer, and
 * a claim that waits for its turn is bounded by the server.
 */
const BATCH: PrismaBatchOptions = {
  isolationLevel: 'ReadCommitted',
  maxWait: 30_000,
  timeout: 3_600_000,
};

/** Runs statements on a client, or on the handle of the caller's transaction. */
export function prismaExecutor(client: PrismaClientLike): SqlExecutor<PrismaTransactionLike> {
  return async (statements, tx) => {
    if (tx) return runInTransaction(tx, statements);
    const [only, ...more] = statements;
    if (!only) return [];
    if (more.length === 0) return client.$queryRawUnsafe(only.text, ...only.values);
    const queries = statements.map(({ text, values }) => client.$queryRawUnsafe(text, ...values));
    const results = await client.$transaction(queries, BATCH);
    return results.at(-1) as SqlRecord[];
  };
}

async function runInTransaction(
  tx: PrismaTransactionLike,
  statements: readonly SqlStatement[],
): Promise<SqlRecord[]> {
  let records: unknown = [];
  try {
    for (const { text, values } of statements) records = await tx.$queryRawUnsafe(text, ...values);
  } catch (error) {
    throw closedTransactionError(error) ?? error;
  }
  return records as SqlRecord[];
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
