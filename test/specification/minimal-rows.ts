import { type OutboxRow, type RowFilter, stateOf } from '@postcommit/core';
import type { RowOrder } from '@postcommit/core/internal';

/** A row with what only the store knows about it. */
export interface StoredRow {
  readonly row: OutboxRow;
  /** The order of enqueuing. */
  readonly seq: number;
  readonly claimedAtMs?: number;
  readonly claimedUntilMs?: number;
}

/** Due rows, oldest first, but none of `exceptTopics`. A row whose claim expired comes alone: it may have killed its owner. */
export function nextClaim(
  rows: readonly StoredRow[],
  nowMs: number,
  limit: number,
  exceptTopics: readonly string[] = [],
): StoredRow[] {
  const mayBeClaimed = (stored: StoredRow): boolean =>
    dueMsOf(stored) <= nowMs && !exceptTopics.includes(stored.row.topic);
  const lanes = new Map<unknown, StoredRow[]>();
  for (const stored of rows.filter(isPending).sort((a, b) => a.seq - b.seq)) {
    const lane = stored.row.key ?? stored;
    const rowsOfLane = lanes.get(lane);
    if (rowsOfLane) rowsOfLane.push(stored);
    else lanes.set(lane, [stored]);
  }
  const next = [...lanes.values()]
    .flatMap((lane) => (lane.some((stored) => isLive(stored, nowMs)) ? [] : claimable(lane, mayBeClaimed)))
    .sort((a, b) => a.dueMs - b.dueMs || a.stored.seq - b.stored.seq)
    .slice(0, limit)
    .map(({ stored }) => stored);
  const expired = next.find(isExpired);
  return expired ? [expired] : next;
}

/**
 * Of a row without a key that row, of a key its rows in order: none behind one that may not be claimed or whose claim
 * expired. `dueMs` never falls along the key, so that the limit cuts off its end.
 */
function claimable(
  lane: readonly StoredRow[],
  mayBeClaimed: (stored: StoredRow) => boolean,
): { stored: StoredRow; dueMs: number }[] {
  const prefix: { stored: StoredRow; dueMs: number }[] = [];
  let dueMs = 0;
  for (const stored of lane) {
    if (!mayBeClaimed(stored) || (prefix.length > 0 && (isExpired(stored) || isExpired(lane[0] ?? stored))))
      break;
    dueMs = Math.max(dueMs, dueMsOf(stored));
    prefix.push({ stored, dueMs });
  }
  return prefix;
}

function dueMsOf({ row }: StoredRow): number {
  return row.availableAt.getTime();
}

/** Asked of rows without a live claim. */
function isExpired({ claimedUntilMs }: StoredRow): boolean {
  return claimedUntilMs !== undefined;
}

export function isPending({ row }: StoredRow): boolean {
  return stateOf(row) === 'pending';
}

/** The row as people see it: with its claim while it is pending. */
export function shown(stored: StoredRow): OutboxRow {
  const { row, claimedAtMs, claimedUntilMs } = stored;
  if (!isPending(stored) || claimedAtMs === undefined || claimedUntilMs === undefined) return row;
  return { ...row, claimedAt: new Date(claimedAtMs), claimedUntil: new Date(claimedUntilMs) };
}

export function isLive({ claimedUntilMs = 0 }: StoredRow, nowMs: number): boolean {
  return claimedUntilMs > nowMs;
}

/** By the time rows were dispatched, died or, while pending, fall due. */
export function inOrder(order: RowOrder): (a: StoredRow, b: StoredRow) => number {
  const sign = order === 'oldest' ? 1 : -1;
  const timeOf = ({ row }: StoredRow): number =>
    (row.dispatchedAt ?? row.deadAt ?? row.availableAt).getTime();
  return (a, b) => sign * (timeOf(a) - timeOf(b) || a.seq - b.seq);
}

export function matches(row: OutboxRow, filter: RowFilter): boolean {
  const { id = row.id, topic = row.topic, key = row.key, state = stateOf(row) } = filter;
  return (
    row.id === id &&
    row.topic === topic &&
    row.key === key &&
    stateOf(row) === state &&
    (row.lastError ?? '').includes(filter.error ?? '') &&
    row.deadReason === (filter.reason ?? row.deadReason) &&
    !(filter.exceptCancelled && row.deadReason === 'cancelled') &&
    isWithin(row.createdAt, filter.createdAfter, filter.createdBefore) &&
    isWithin(row.deadAt, filter.deadAfter, filter.deadBefore)
  );
}

function isWithin(time: Date | undefined, after: Date | undefined, before: Date | undefined): boolean {
  if (!after && !before) return true;
  return time !== undefined && (!after || time >= after) && (!before || time < before);
}
