import type { KeyedAnswer, KeyedRequest, WindowAnswer } from '../src/claim/claim-runner.js';
import type { DuePlace } from '../src/dialect.js';
import type { SqlRecord } from '../src/sql-statement.js';

export interface DueRow {
  readonly topic: string;
  readonly key: string | undefined;
  readonly dueAtMs: number;
  readonly seq: number;
  /** Blocked rows of a key can't be claimed, but are not left out. */
  isBlocked?: boolean;
  isClaimed?: boolean;
}

/** A queue in due order, as a claim sees it; windows are found as an index finds them. */
export class DueQueue {
  readonly rows: DueRow[] = [];
  /** The windows read since the last call of `read`. */
  #windows: number[] = [];
  /** What the last look found. */
  lastWindow: readonly DueRow[] = [];
  readonly #byKey = new Map<string, DueRow[]>();
  #seq = 0;

  add(count: number, topic: string, dueAtMs: number, key?: string): DueRow[] {
    const added = Array.from({ length: count }, (): DueRow => ({ topic, key, dueAtMs, seq: ++this.#seq }));
    // Due order without sorting a million rows.
    const place = this.rows.findLastIndex((row) => row.dueAtMs <= dueAtMs) + 1;
    const behind = this.rows.splice(place);
    for (const row of added) this.rows.push(row);
    if (key !== undefined) this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), ...added]);
    for (const row of behind) this.rows.push(row);
    return added;
  }

  windowsRead(): number[] {
    const read = this.#windows;
    this.#windows = [];
    return read;
  }

  look(request: Look): { window: DueRow[]; kept: DueRow[]; claimed: DueRow[] } {
    this.#windows.push(request.window);
    const window: DueRow[] = [];
    for (let place = this.#firstBehind(request.after); place < this.rows.length; place++) {
      const row = this.rows[place];
      if (row && !row.isClaimed) window.push(row);
      if (window.length === request.window) break;
    }
    this.lastWindow = window;
    const kept = window.filter(({ topic }) => !request.exceptTopics?.includes(topic));
    const candidates = [...this.#ofKeys(request.parked), ...kept];
    const claimed = candidates.filter(({ isBlocked }) => !isBlocked).slice(0, request.limit);
    for (const row of claimed) row.isClaimed = true;
    return { window, kept, claimed };
  }

  /** Returns those of these keys without a row. */
  emptyKeys(keys: readonly string[]): string[] {
    return keys.filter((key) => !this.#byKey.get(key)?.some(({ isClaimed }) => !isClaimed));
  }

  pendingKeys(after = '', limit: number): string[] {
    const keys = [...this.#byKey.keys()].filter((key) => key > after && this.emptyKeys([key]).length === 0);
    return keys.sort().slice(0, limit);
  }

  #ofKeys(keys: readonly string[] = []): DueRow[] {
    return keys.flatMap((key) => {
      const rows = this.#byKey.get(key) ?? [];
      const head = rows.findIndex(({ isClaimed }) => !isClaimed);
      return head < 0 || rows[head]?.isBlocked ? [] : rows.slice(head);
    });
  }

  #firstBehind(after: DuePlace | undefined): number {
    if (!after) return 0;
    const [dueAtMs, seq] = [Number(after.availableAt) / 1_000, Number(after.seq)];
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.rows[middle] as DueRow;
      if (row.dueAtMs > dueAtMs || (row.dueAtMs === dueAtMs && row.seq > seq)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

interface Look {
  readonly limit: number;
  readonly window: number;
  readonly after: DuePlace | undefined;
  readonly exceptTopics?: readonly string[];
  readonly parked?: readonly string[];
}

const placeOf = ({ dueAtMs, seq }: DueRow): DuePlace => ({
  availableAt: String(dueAtMs * 1_000),
  seq: String(seq),
});
export const recordOf = ({ topic, dueAtMs, seq }: DueRow): SqlRecord => ({
  id: `m${seq}`,
  topic,
  seq: String(seq),
  created_at: dueAtMs,
  available_at: null,
  retakes: null,
});

export function windowSeen(window: readonly DueRow[]): WindowAnswer['window'] {
  const last = window.at(-1);
  return last ? { rows: window.length, last: placeOf(last) } : { rows: 0 };
}

/** Answers a claim of rows with a key, as a dialect does. */
export function claimKeyed(queue: DueQueue, request: KeyedRequest): KeyedAnswer {
  const { window, kept, claimed } = queue.look(request);
  const rows = claimed.map(recordOf);
  if (rows.length > 0) return { rows, window: { rows: window.length }, blockedKeys: [], emptyKeys: [] };
  const blocked = window.length < request.window ? [] : kept.map(({ key = 'k' }) => key);
  return {
    rows,
    window: windowSeen(window),
    blockedKeys: [...new Set(blocked)],
    emptyKeys: queue.emptyKeys(request.parked),
  };
}
