/** What the promise was, and how it was broken. */
export class Violation extends Error {}

interface Enqueued {
  readonly key: string | undefined;
  readonly began: number;
  committed: number | undefined;
}

/** One update of a row, as a trigger on the table saw it. */
export interface Audited {
  readonly actor: string | null;
  readonly id: string;
  readonly old_token: string | null;
  readonly new_token: string | null;
  readonly was_live: boolean;
  readonly was_pending: boolean;
}

/** What happened, in the order in which it happened; each entry is held against the promises as it comes. */
export class History {
  readonly #rows = new Map<string, Enqueued>();
  readonly #published = new Set<string>();
  /** Rows that were dead or requeued at some time: they have lost their place. */
  readonly #displaced = new Set<string>();
  #tick = 0;

  enqueueBegan(id: string, key: string | undefined): void {
    this.#rows.set(id, { key, began: this.#tick++, committed: undefined });
  }

  enqueueCommitted(id: string): void {
    const row = this.#rows.get(id);
    if (row) row.committed = this.#tick++;
  }

  enqueueRolledBack(id: string): void {
    this.#rows.delete(id);
  }

  displaced(id: string): void {
    this.#displaced.add(id);
  }

  keyOf(id: string): string | undefined {
    return this.#rows.get(id)?.key;
  }

  committedIds(): string[] {
    return [...this.#rows].filter(([, { committed }]) => committed !== undefined).map(([id]) => id);
  }

  /** I5, before it shows: who must be published first is in the same batch, in front. */
  claim(ids: readonly string[]): void {
    for (const [index, id] of ids.entries()) this.#assertFirst('claimed', id, ids.slice(0, index));
  }

  /** I5: whoever committed before this one began was published first, unless it lost its place. */
  publish(id: string): void {
    if (this.#rows.get(id)?.committed === undefined) {
      throw new Violation(`I1: ${id} was published but never committed`);
    }
    if (!this.#published.has(id)) this.#assertFirst('published', id, []);
    this.#published.add(id);
  }

  wasPublished(id: string): boolean {
    return this.#published.has(id);
  }

  /** I3 and I4, from what every statement really changed. */
  audit(updates: readonly Audited[]): void {
    for (const update of updates) {
      const [kind, token] = (update.actor ?? '').split(':');
      const isFenced = kind === 'settle' || kind === 'extend';
      if (isFenced && (update.old_token !== token || !update.was_pending)) {
        throw new Violation(`I3: ${update.actor} changed ${update.id}, which ${update.old_token} holds`);
      }
      if (kind === 'claim' && update.was_live) {
        throw new Violation(
          `I4: ${update.actor} took ${update.id} from ${update.old_token}, whose claim lives`,
        );
      }
    }
  }

  #assertFirst(what: string, id: string, inFront: readonly string[]): void {
    const row = this.#rows.get(id);
    if (row?.key === undefined) return;
    for (const [elderId, elder] of this.#rows) {
      const comesFirst =
        elder.key === row.key && elder.committed !== undefined && elder.committed < row.began;
      const hadItsTurn =
        this.#published.has(elderId) || this.#displaced.has(elderId) || inFront.includes(elderId);
      if (comesFirst && !hadItsTurn) {
        throw new Violation(`I5: ${id} was ${what} before ${elderId}, of the same key ${row.key}`);
      }
    }
  }
}
