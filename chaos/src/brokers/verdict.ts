import type { Received } from './target.js';

/** What was enqueued: its number and key by the id of its row. */
export type Committed = ReadonlyMap<string, Pick<Received, 'key' | 'number'>>;

export interface Verdict {
  readonly received: number;
  /** Committed, and not at the broker. */
  readonly lost: readonly string[];
  /** At the broker, and never committed. */
  readonly phantoms: readonly string[];
  /** First arrived after a later message of its key. */
  readonly outOfOrder: readonly string[];
  /** Arrived before, under the same id. */
  readonly duplicates: number;
}

export function judge(committed: Committed, received: readonly Received[]): Verdict {
  const first = firstArrivals(received);
  return {
    received: received.length,
    lost: [...committed.keys()].filter((id) => !first.has(id)),
    phantoms: [...first].filter(([id, message]) => !isCommitted(committed, id, message)).map(([id]) => id),
    outOfOrder: overtaken([...first.values()]),
    duplicates: received.length - first.size,
  };
}

function firstArrivals(received: readonly Received[]): Map<string, Received> {
  const first = new Map<string, Received>();
  for (const message of received) if (!first.has(message.id)) first.set(message.id, message);
  return first;
}

/** Under its own id: another body under a known id is none of ours either. */
function isCommitted(committed: Committed, id: string, message: Received): boolean {
  const known = committed.get(id);
  return known !== undefined && known.number === message.number && known.key === message.key;
}

function overtaken(arrivals: readonly Received[]): string[] {
  const latest = new Map<string, number>();
  return arrivals.flatMap(({ id, key, number }) => {
    if (key === undefined) return [];
    const before = latest.get(key) ?? Number.NEGATIVE_INFINITY;
    latest.set(key, Math.max(before, number));
    return number < before ? [id] : [];
  });
}
