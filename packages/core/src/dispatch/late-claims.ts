import type { OutboxRow } from '../message/outbox-row.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** Claims that were given up before they were answered. What they bring after all is given back: nobody publishes it. */
export class LateClaims {
  readonly #store: OutboxStore;
  readonly #returning = new Set<Promise<void>>();
  /** Rows that are claimed here and could not be given back yet. */
  readonly ids = new Set<string>();

  constructor(store: OutboxStore) {
    this.#store = store;
  }

  expect(fetching: Promise<OutboxRow[]>): void {
    // One that fails after all has claimed nothing that we know of.
    fetching.then((rows) => this.#return(rows)).catch(() => {});
  }

  /** Ends when all that came late so far has been given back, or could not be. */
  async returned(): Promise<void> {
    while (this.#returning.size > 0) await Promise.all(this.#returning);
  }

  #return(rows: readonly OutboxRow[]): void {
    const token = rows[0]?.claimToken;
    if (token === undefined) return;
    const ids = rows.map(({ id }) => id);
    for (const id of ids) this.ids.add(id);
    const forget = (): void => {
      for (const id of ids) this.ids.delete(id);
    };
    // Where it fails, the claims expire by themselves.
    const returning = this.#store
      .release(ids, token)
      .then(forget, () => {})
      .finally(() => this.#returning.delete(returning));
    this.#returning.add(returning);
  }
}
