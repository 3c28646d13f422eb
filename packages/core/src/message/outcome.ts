import type { DeadReason } from './dead-reason.js';

/** How the claim on one row ends. The database adds `delayMs` to its own clock. */
export type Outcome = { readonly id: string } & (
  | { readonly kind: 'dispatched' }
  | { readonly kind: 'failed'; readonly error: string; readonly delayMs: number }
  | {
      readonly kind: 'dead';
      readonly error: string;
      readonly reason: DeadReason;
      /** The row was never handed to the publisher, so `attempts` does not change. */
      readonly untried?: boolean;
    }
  | {
      readonly kind: 'released';
      readonly delayMs?: number;
      /** Its destination is away. Counted in the summary; stores ignore it. */
      readonly isUnavailable?: boolean;
    }
);

/** How many failed publishes an outcome adds to a row's `attempts`. */
export function attemptsOf(outcome: Outcome): 0 | 1 {
  if (outcome.kind === 'failed') return 1;
  return outcome.kind === 'dead' && !outcome.untried ? 1 : 0;
}

/** Whether newer rows with the same key must wait until this row has been published. */
export function blocksKey({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'released';
}
