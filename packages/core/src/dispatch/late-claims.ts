import type { OutboxRow } from '../message/outbox-row.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** Claims we stopped waiting for. Rows they return late are released, never published. */
export class LateClaims {
  readonly #store: OutboxStore;
  readonly #releasing = new Set<Promise<void>>();
  readonly #ids = new Set<string>();

  constructor(store: OutboxStore) {
    this.#store = store;
  }

  /** Ids of rows that are claimed and not yet released. */
  get ids(): string[] {
    return [...this.#ids];
  }

  releaseWhenAnswered(fetching: Promise<OutboxRow[]>): void {
    // If it fails, there is nothing to release.
    fetching.then((rows) => this.#release(rows)).catch(() => {});
  }

  /** Resolves when every release has succeeded or failed. */
  async released(): Promise<void> {
    while (this.#releasing.size > 0) await Promise.all(this.#releasing);
  }

  #release(rows: readonly OutboxRow[]): void {
    const token = rows[0]?.claimToken;
    if (token === undefined) return;
    const ids = rows.map(({ id }) => id);
    for (const id of ids) this.#ids.add(id);
    const forget = (): void => {
      for (const id of ids) this.#ids.delete(id);
    };
    // If it fails, the claims expire.
    const releasing = this.#store
      .release(ids, token)
      .then(forget, () => {})
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
  }
}
