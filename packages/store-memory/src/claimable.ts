import { isPending, type MemoryRow } from './memory-row.js';

/** A row that may be claimed now, and the time that decides its place in the queue. */
interface Candidate {
  readonly row: MemoryRow;
  readonly dueAt: number;
}

/**
 * Returns the rows that the next claim takes. These are the rules of claiming that every store must follow.
 *
 * A claim is live while `claimedUntil` is in the future. Rows are taken by due time, then by `seq`. A row whose claim
 * expired may have crashed its owner, so it is claimed alone: if it crashes the next one, no other row is affected.
 */
export function claimable(
  rows: Iterable<MemoryRow>,
  nowMs: number,
  limit: number,
  exceptTopics: readonly string[] = [],
): MemoryRow[] {
  const pending = [...rows].filter(isPending);
  const except = new Set(exceptTopics);
  const unkeyed = pending.filter(
    (row) => row.key === undefined && isDue(row, nowMs) && !isLive(row, nowMs) && !except.has(row.topic),
  );
  const candidates = [
    ...unkeyed.map((row) => ({ row, dueAt: row.availableAt })),
    ...keyedCandidates(pending, nowMs, except),
  ];
  const queue = candidates.sort((a, b) => a.dueAt - b.dueAt || a.row.seq - b.row.seq).slice(0, limit);
  const orphan = queue.find(({ row }) => isOrphaned(row));
  return (orphan ? [orphan] : queue).map(({ row }) => row);
}

/** For each key without a live claim: its oldest pending rows, up to the first that is not due. */
function keyedCandidates(
  pending: readonly MemoryRow[],
  nowMs: number,
  except: ReadonlySet<string>,
): Candidate[] {
  const byKey = new Map<string, MemoryRow[]>();
  for (const row of [...pending].sort((a, b) => a.seq - b.seq)) {
    if (row.key === undefined) continue;
    const ofKey = byKey.get(row.key);
    if (ofKey) ofKey.push(row);
    else byKey.set(row.key, [row]);
  }
  return [...byKey.values()].flatMap((rows) =>
    rows.some((row) => isLive(row, nowMs)) ? [] : duePrefix(rows, nowMs, except),
  );
}

/**
 * The due rows at the head of a key: a head that backs off, is scheduled for later, or has a topic that is left out holds
 * back the whole key. `dueAt` never decreases along the key, so cutting the queue anywhere leaves a prefix of each key.
 * An orphan is a prefix alone.
 */
function duePrefix(rows: readonly MemoryRow[], nowMs: number, except: ReadonlySet<string>): Candidate[] {
  const prefix: Candidate[] = [];
  let dueAt = 0;
  for (const row of rows) {
    if (!isDue(row, nowMs) || except.has(row.topic) || (prefix.length > 0 && isOrphaned(row))) break;
    dueAt = Math.max(dueAt, row.availableAt);
    prefix.push({ row, dueAt });
    if (isOrphaned(row)) break;
  }
  return prefix;
}

function isDue(row: MemoryRow, nowMs: number): boolean {
  return row.availableAt <= nowMs;
}

/** Whether the row has a live claim. */
export function isLive(row: MemoryRow, nowMs: number): boolean {
  return row.claimedUntil !== undefined && row.claimedUntil > nowMs;
}

/** For rows without a live claim: one that still has a claim time was never settled by its owner. */
function isOrphaned(row: MemoryRow): boolean {
  return row.claimedUntil !== undefined;
}
