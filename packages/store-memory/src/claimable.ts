import { isPending, type MemoryRow } from './memory-row.js';

/** A row that may be claimed now, and the time by which it takes its place in the line. */
interface Candidate {
  readonly row: MemoryRow;
  readonly dueAt: number;
}

/**
 * Which rows the next claim takes: the rules of claiming, in one place, as every store must follow them.
 *
 * A claim lives while `claimedUntil` is in the future. Rows come by due time, then by `seq`. A row whose claim
 * expired may have killed its owner: it is taken alone, so that it takes nobody along.
 */
export function claimable(rows: Iterable<MemoryRow>, nowMs: number, limit: number): MemoryRow[] {
  const pending = [...rows].filter(isPending);
  const unkeyed = pending.filter((row) => row.key === undefined && isDue(row, nowMs) && !isLive(row, nowMs));
  const candidates = [
    ...unkeyed.map((row) => ({ row, dueAt: row.availableAt })),
    ...keyedCandidates(pending, nowMs),
  ];
  const line = candidates.sort((a, b) => a.dueAt - b.dueAt || a.row.seq - b.row.seq).slice(0, limit);
  const orphan = line.find(({ row }) => isOrphaned(row));
  return (orphan ? [orphan] : line).map(({ row }) => row);
}

/** Of each key that nobody holds: its oldest pending rows, as far as they are due without a gap. */
function keyedCandidates(pending: readonly MemoryRow[], nowMs: number): Candidate[] {
  const byKey = new Map<string, MemoryRow[]>();
  for (const row of [...pending].sort((a, b) => a.seq - b.seq)) {
    if (row.key !== undefined) byKey.set(row.key, [...(byKey.get(row.key) ?? []), row]);
  }
  return [...byKey.values()].flatMap((rows) =>
    rows.some((row) => isLive(row, nowMs)) ? [] : duePrefix(rows, nowMs),
  );
}

/**
 * A head that backs off, or is scheduled for later, holds back its key. `dueAt` never falls along the key, so
 * that cutting the line anywhere leaves a prefix of each key. An orphan ends the prefix, or is all of it.
 */
function duePrefix(rows: readonly MemoryRow[], nowMs: number): Candidate[] {
  const prefix: Candidate[] = [];
  let dueAt = 0;
  for (const row of rows) {
    if (!isDue(row, nowMs) || (prefix.length > 0 && isOrphaned(row))) break;
    dueAt = Math.max(dueAt, row.availableAt);
    prefix.push({ row, dueAt });
    if (isOrphaned(row)) break;
  }
  return prefix;
}

function isDue(row: MemoryRow, nowMs: number): boolean {
  return row.availableAt <= nowMs;
}

/** Whether somebody holds the row. */
export function isLive(row: MemoryRow, nowMs: number): boolean {
  return row.claimedUntil !== undefined && row.claimedUntil > nowMs;
}

/** Asked of rows without a live claim: one that still has a token had an owner that never came back. */
function isOrphaned(row: MemoryRow): boolean {
  return row.claimedUntil !== undefined;
}
