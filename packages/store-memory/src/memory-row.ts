import type { BackoffOptions, DeadReason, NewRow, OutboxRow, RowFilter } from '@postcommit/core';
import { stateOf } from '@postcommit/core';
import type { OutboxHeaders } from '@postcommit/core/internal';

/** A row as the table holds it. Times are milliseconds since 1970. */
export interface MemoryRow {
  readonly id: string;
  readonly topic: string;
  /** JSON text, as in a database: later changes to the caller's object do not affect the row. */
  readonly payload: string;
  readonly key: string | undefined;
  readonly headers: OutboxHeaders;
  readonly createdAt: number;
  maxAttempts: number | undefined;
  backoff: BackoffOptions | undefined;
  /** The order in which rows were enqueued. */
  seq: number;
  availableAt: number;
  dispatchedAt?: number | undefined;
  deadAt?: number | undefined;
  deadReason?: DeadReason | undefined;
  attempts: number;
  retakes: number;
  lastError?: string | undefined;
  claimToken?: string | undefined;
  claimedAt?: number | undefined;
  claimedUntil?: number | undefined;
}

export function toMemoryRow(row: NewRow, seq: number, nowMs: number): MemoryRow {
  return {
    id: row.id,
    topic: row.topic,
    payload: row.payload,
    key: row.key,
    headers: { ...row.headers },
    createdAt: nowMs,
    maxAttempts: row.maxAttempts,
    backoff: row.backoff && { ...row.backoff },
    seq,
    availableAt: row.availableAt?.getTime() ?? nowMs,
    attempts: 0,
    retakes: 0,
  };
}

export function toOutboxRow(row: MemoryRow): OutboxRow {
  return {
    id: row.id,
    topic: row.topic,
    payload: JSON.parse(row.payload),
    ...(row.key !== undefined && { key: row.key }),
    headers: { ...row.headers },
    createdAt: new Date(row.createdAt),
    availableAt: new Date(row.availableAt),
    ...(row.dispatchedAt !== undefined && { dispatchedAt: new Date(row.dispatchedAt) }),
    ...(row.deadAt !== undefined && { deadAt: new Date(row.deadAt) }),
    ...(row.deadReason !== undefined && { deadReason: row.deadReason }),
    attempts: row.attempts,
    retakes: row.retakes,
    ...(row.lastError !== undefined && { lastError: row.lastError }),
    ...(row.claimToken !== undefined && { claimToken: row.claimToken }),
    retry: {
      ...(row.maxAttempts !== undefined && { maxAttempts: row.maxAttempts }),
      ...(row.backoff && { backoff: { ...row.backoff } }),
    },
  };
}

/** With what a claim leaves out. */
export function toListedRow(row: MemoryRow): OutboxRow {
  const { claimedAt, claimedUntil } = row;
  if (!isPending(row) || claimedAt === undefined || claimedUntil === undefined) return toOutboxRow(row);
  return { ...toOutboxRow(row), claimedAt: new Date(claimedAt), claimedUntil: new Date(claimedUntil) };
}

export function isPending(row: MemoryRow): boolean {
  return row.dispatchedAt === undefined && row.deadAt === undefined;
}

export function matches(row: MemoryRow, filter: RowFilter): boolean {
  const outboxRow = toOutboxRow(row);
  return (
    (filter.id === undefined || row.id === filter.id) &&
    (filter.state === undefined || stateOf(outboxRow) === filter.state) &&
    (filter.topic === undefined || row.topic === filter.topic) &&
    (filter.key === undefined || row.key === filter.key) &&
    (filter.error === undefined || (row.lastError?.includes(filter.error) ?? false)) &&
    (filter.reason === undefined || row.deadReason === filter.reason) &&
    !(filter.exceptCancelled && row.deadReason === 'cancelled') &&
    isWithin(outboxRow.createdAt, filter.createdAfter, filter.createdBefore) &&
    isWithin(outboxRow.deadAt, filter.deadAfter, filter.deadBefore)
  );
}

/** `after` is inclusive and `before` exclusive, so adjacent ranges neither overlap nor leave a gap. */
function isWithin(date: Date | undefined, after: Date | undefined, before: Date | undefined): boolean {
  if (after === undefined && before === undefined) return true;
  return (
    date !== undefined && (after === undefined || date >= after) && (before === undefined || date < before)
  );
}
