import type { History } from './history.js';
import type { FaultRecord, Moment, PublishRecord } from './ledger.js';

export interface DuplicateVerdict {
  readonly duplicates: number;
  /** Row ids that were published again although nothing allowed it. */
  readonly unexcused: readonly string[];
}

type Publish = PublishRecord & Moment;

/**
 * I6: a row is published again only after a crash, an expired claim or an unknown commit result, and only if the
 * process that was hit had claimed it. So each repetition needs its own cause. Of the two claims under which the row
 * was published, the older one is the one that something happened to, between its beginning and the answer to its
 * settle:
 * - a fault hit its process, or all of them, in that time;
 * - the database saw it expire: a claim after it, up to the newer one, was a retake;
 * - an operator requeued the row, or the publisher delivered and reported the opposite: neither is caused by the outbox.
 */
export function judgeDuplicates(
  history: History,
  published: readonly Publish[],
  isStrict: boolean,
): DuplicateVerdict {
  const claims = new Map(history.claims.map((claim) => [claimKey(claim), claim]));
  const settles = new Map(history.settles.map((settle) => [claimKey(settle), settle.moment]));
  const retaken = retakesByRow(history);
  const claimedAt = (publish: Publish): number => claims.get(claimKey(publish))?.moment ?? publish.moment;
  const isExcused = (first: Publish, again: Publish): boolean => {
    if (first.outcome === 'delivered, then failed') return true;
    const wasPutBack = history.operations.some(
      ({ rowId, moment }) => rowId === first.rowId && moment < again.moment,
    );
    if (wasPutBack) return true;
    if (isStrict) return false;
    // A process that stood still publishes late, after the one that took over.
    const [older, newer] = claimedAt(first) <= claimedAt(again) ? [first, again] : [again, first];
    const hasExpired = (retaken.get(first.rowId) ?? []).some(
      (moment) => moment > claimedAt(older) && moment <= claimedAt(newer),
    );
    if (hasExpired) return true;
    const to = Math.min(settles.get(claimKey(older)) ?? Number.POSITIVE_INFINITY, again.moment);
    return history.faults.some(
      (fault) => hits(fault, older.process) && overlaps(fault, claimedAt(older), to),
    );
  };
  const last = new Map<string, Publish>();
  const unexcused: string[] = [];
  let duplicates = 0;
  for (const again of published) {
    const first = last.get(again.rowId);
    last.set(again.rowId, again);
    if (!first) continue;
    duplicates += 1;
    if (!isExcused(first, again)) unexcused.push(again.rowId);
  }
  return { duplicates, unexcused };
}

/** Not only the newer claim itself: a retake whose answer came too late is given back, and counts as none from then on. */
function retakesByRow({ claims }: History): Map<string, number[]> {
  const moments = new Map<string, number[]>();
  for (const { rowId, retakes, moment } of claims) {
    if (retakes > 0) moments.set(rowId, [...(moments.get(rowId) ?? []), moment]);
  }
  return moments;
}

function claimKey({ rowId, token }: { readonly rowId: string; readonly token: string }): string {
  return `${token} ${rowId}`;
}

function hits(fault: FaultRecord, process: string): boolean {
  return fault.process === null || fault.process === process;
}

function overlaps(fault: FaultRecord, from: number, to: number): boolean {
  return fault.began <= to && (fault.ended ?? Number.POSITIVE_INFINITY) >= from;
}
