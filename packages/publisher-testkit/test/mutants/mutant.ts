import type { ToyPublisherClass } from '../toy-harness.js';
import type { ToySettings } from '../toy-protocol.js';

/** A publisher with one deliberate defect, and the behaviours that must fail because of it. */
export interface Mutant {
  readonly defect: string;
  readonly caughtBy: readonly string[];
  readonly Publisher: ToyPublisherClass;
  /** Settings of the broker. */
  readonly settings?: Partial<ToySettings>;
}

export function mutant(
  defect: string,
  caughtBy: string | readonly string[],
  Publisher: ToyPublisherClass,
): Mutant {
  return { defect, caughtBy: typeof caughtBy === 'string' ? [caughtBy] : caughtBy, Publisher };
}
