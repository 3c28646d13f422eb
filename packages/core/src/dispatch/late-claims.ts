import type { OutboxRow } from '../message/outbox-row.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** Claims that were given up before they were answered. What they return after all is released, never published. */
export class LateClaims {
  readonly #store: OutboxStore;
  readonly #releasing = new Set<Promise<void>>();
  readonly #ids = new Set<string>();

  constructor(store: OutboxStore) {
    this.#store = store;
  }

  /** Rows that are claimed here and not released yet. */
  get ids(): string[] {
    return [...this.#ids];
  }

  expect(fetching: Promise<OutboxRow[]>): void {
    // One that fails after all has claimed nothing that we know of.
    fetching.then((rows) => this.#release(rows)).catch(() => {});
  }

  /** Resolves when everything that came late so far has been released, or could not be. */
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
    // Where it fails, the claims expire by themselves.
    const releasing = this.#store
      .release(ids, token)
      .then(forget, () => {})
      .finally(() => this.#releasing.delete(releasing));
    this.#releasing.add(releasing);
  }
}
