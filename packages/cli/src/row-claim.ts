import { isOutboxError, type OutboxApp, type OutboxRow, stateOf } from '@postcommit/core';
import { OutboxWorkers, type WorkerIdentity, workerOf } from '@postcommit/core/internal';

export type ClaimOwner = Pick<WorkerIdentity, 'id' | 'host' | 'pid'>;

/** Who may publish a row now. */
export interface RowClaim {
  /** The id of a worker. A cron job or a command does not register. */
  readonly owner: string;
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  readonly claimedAt?: Date | undefined;
  readonly claimedUntil?: Date | undefined;
}

/** Undefined for a row that nobody holds. */
export function claimOf(row: OutboxRow, workers: readonly ClaimOwner[]): RowClaim | undefined {
  const { claimToken, claimedAt, claimedUntil } = row;
  if (claimToken === undefined || stateOf(row) !== 'pending') return undefined;
  const id = workerOf(claimToken);
  const worker = workers.find((known) => known.id === id);
  return { owner: id ?? 'unregistered', host: worker?.host, pid: worker?.pid, claimedAt, claimedUntil };
}

/** The workers that may hold these rows. */
export async function ownersOf(app: OutboxApp, rows: readonly OutboxRow[]): Promise<readonly ClaimOwner[]> {
  const isHeld = rows.some((row) => claimOf(row, []) !== undefined);
  if (!isHeld || !app.has(OutboxWorkers)) return [];
  try {
    return await app.get(OutboxWorkers).list();
  } catch (error) {
    // An upgrade has not created the table yet, so nobody is registered.
    if (isOutboxError(error) && error.code === 'SCHEMA_OUTDATED') return [];
    throw error;
  }
}
