import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';

/** Keys of a group of rows, published together, of which one has to be published first, again. */
export class BrokenKeys {
  readonly #keys = new Set<string>();

  has({ key }: OutboxRow): boolean {
    return key !== undefined && this.#keys.has(key);
  }

  note({ key }: OutboxRow, outcome: Outcome): Outcome {
    const isBroken = outcome.kind === 'failed' || outcome.kind === 'released';
    if (key !== undefined && isBroken) this.#keys.add(key);
    return outcome;
  }
}
