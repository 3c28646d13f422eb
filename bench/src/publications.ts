import type { Published } from './consumers.js';
import { BESIDE } from './subject.js';

/** What was published, and when: the account against which a subject's own is checked. */
export class Publications {
  readonly #arrivals = new Map<number, number>();
  readonly #heap: number[] = [];
  readonly #waiting: Array<{ readonly count: number; readonly resolve: () => void }> = [];
  #repeats = 0;
  #firstAt: number | undefined;

  readonly add = (batches: readonly Published[], heapMiB?: number): void => {
    if (heapMiB !== undefined) this.#heap.push(heapMiB);
    for (const { at, orders } of batches) {
      for (const order of orders) this.#addOne(order, at);
    }
    for (const { count, resolve } of this.#waiting) if (this.count >= count) resolve();
  };

  /** Different orders, without those that are only in the way. */
  get count(): number {
    return this.#arrivals.size;
  }

  get repeats(): number {
    return this.#repeats;
  }

  /** When the first message was published, without those that are only in the way. */
  get firstAt(): number | undefined {
    return this.#firstAt;
  }

  /** MiB after a collection, now and then. */
  get heap(): readonly number[] {
    return this.#heap;
  }

  arrival(order: number): number | undefined {
    return this.#arrivals.get(order);
  }

  /** When so many orders are published. */
  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.count >= count) resolve();
      else this.#waiting.push({ count, resolve });
    });
  }

  #addOne(order: number, at: number): void {
    if (order >= BESIDE) return;
    this.#firstAt ??= at;
    if (this.#arrivals.has(order)) this.#repeats += 1;
    else this.#arrivals.set(order, at);
  }
}
