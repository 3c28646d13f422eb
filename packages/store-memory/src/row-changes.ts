import { type Outcome, type RetryOptions, stateOf } from '@postcommit/core';
import { attemptsOf } from '@postcommit/core/internal';
import { isPending, type MemoryRow, toOutboxRow } from './memory-row.js';

/** Records an outcome. Returns whether the row was settled: the token matched, or none was passed. */
export function settleRow(
  row: MemoryRow,
  claimToken: string | undefined,
  outcome: Outcome,
  nowMs: number,
): boolean {
  if (claimToken !== undefined && row.claimToken !== claimToken) return false;
  if (!isPending(row)) return claimToken !== undefined && stateOf(toOutboxRow(row)) === outcome.kind;
  row.attempts += attemptsOf(outcome);
  // A release says nothing about the row, so it can't clear it of having crashed a process.
  if (outcome.kind !== 'released') row.retakes = 0;
  switch (outcome.kind) {
    case 'dispatched':
      // The token stays, here and on a dead row, as a receipt for a repeated settle.
      row.dispatchedAt = nowMs;
      break;
    case 'failed':
      row.lastError = outcome.error;
      row.availableAt = nowMs + outcome.delayMs;
      endClaim(row);
      break;
    case 'dead':
      row.lastError = outcome.error;
      row.deadAt = nowMs;
      row.deadReason = outcome.reason;
      break;
    case 'released':
      if (outcome.delayMs !== undefined) row.availableAt = nowMs + outcome.delayMs;
      endClaim(row);
  }
  return true;
}

/** Makes the row pending and due. It keeps its place in its key; the caller assigns an ended row a new one. */
export function restartRow(row: MemoryRow, nowMs: number, { maxAttempts, backoff }: RetryOptions = {}): void {
  endClaim(row);
  row.dispatchedAt = undefined;
  row.deadAt = undefined;
  row.deadReason = undefined;
  row.lastError = undefined;
  row.attempts = 0;
  row.retakes = 0;
  row.availableAt = nowMs;
  if (maxAttempts !== undefined) row.maxAttempts = maxAttempts;
  if (backoff !== undefined) row.backoff = { ...backoff };
}

export function endClaim(row: MemoryRow): void {
  row.claimToken = undefined;
  row.claimedAt = undefined;
  row.claimedUntil = undefined;
}
