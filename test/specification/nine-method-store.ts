import { randomUUID } from 'node:crypto';
import {
  type OutboxCounts,
  type OutboxEntry,
  type OutboxRow,
  type OutboxState,
  OutboxStore,
  stateOf,
} from '@postcommit/core';

/**
 * A store with the nine methods of the document, as their signatures stand there. It does not compile against our
 * contract: `docs/decisions/store-methods.md` says why. `minimal-store.ts` is the same store with what it lacks.
 */
// @ts-expect-error: lacks backlog, cancel, discard, extendClaim, insert, purgeDead, requeueWhere and settle
export class NineMethodStore extends OutboxStore {
  readonly #rows = new Map<string, OutboxRow>();
  readonly #claimed = new Set<string>();

  // @ts-expect-error: returns the ids of the entries
  async enqueue(entries: OutboxEntry[]): Promise<void> {
    for (const { topic, payload } of entries) {
      const at = new Date();
      const row = {
        id: randomUUID(),
        topic,
        payload,
        headers: {},
        createdAt: at,
        availableAt: at,
        retry: {},
      };
      this.#rows.set(row.id, { ...row, attempts: 0, retakes: 0 });
    }
  }

  async fetchPending(limit: number): Promise<OutboxRow[]> {
    const rows = [...this.#rows.values()].filter((row) => stateOf(row) === 'pending');
    const free = rows.filter(({ id }) => !this.#claimed.has(id)).slice(0, limit);
    for (const { id } of free) this.#claimed.add(id);
    return free;
  }

  // @ts-expect-error: returns the ids that were still claimed
  async markDispatched(ids: string[]): Promise<void> {
    for (const id of ids) this.#change(id, { dispatchedAt: new Date() });
  }

  // @ts-expect-error: returns whether the row was still claimed
  async markFailed(id: string, error: string): Promise<void> {
    this.#change(id, { attempts: this.#row(id).attempts + 1, lastError: error });
  }

  // @ts-expect-error: returns whether the row was still claimed
  async markDead(id: string, error: string): Promise<void> {
    this.#change(id, { attempts: this.#row(id).attempts + 1, lastError: error, deadAt: new Date() });
  }

  async count(): Promise<OutboxCounts> {
    const counts = { pending: 0, dispatched: 0, dead: 0, total: this.#rows.size };
    for (const row of this.#rows.values()) counts[stateOf(row)] += 1;
    return counts;
  }

  async peek({ state }: { state?: OutboxState }, limit: number): Promise<OutboxRow[]> {
    const rows = [...this.#rows.values()];
    return rows.filter((row) => state === undefined || stateOf(row) === state).slice(0, limit);
  }

  async requeue(id: string): Promise<void> {
    const { dispatchedAt, deadAt, lastError, ...row } = this.#row(id);
    this.#rows.set(id, row);
    this.#change(id, { attempts: 0 });
  }

  async purgeDispatched(olderThan: Date): Promise<number> {
    const old = [...this.#rows.values()].filter(
      ({ dispatchedAt }) => dispatchedAt && dispatchedAt < olderThan,
    );
    for (const { id } of old) this.#rows.delete(id);
    return old.length;
  }

  #row(id: string): OutboxRow {
    const row = this.#rows.get(id);
    if (!row) throw new Error(`no row ${id}`);
    return row;
  }

  #change(id: string, change: Partial<OutboxRow>): void {
    this.#rows.set(id, { ...this.#row(id), ...change });
    this.#claimed.delete(id);
  }
}
