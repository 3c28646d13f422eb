import type { DeadReason } from './dead-reason.js';

/** How the claim on one row ends. Delays are milliseconds that the database adds to its own clock. */
export type Outcome = { readonly id: string } & (
  | { readonly kind: 'dispatched' }
  | { readonly kind: 'failed'; readonly error: string; readonly delayMs: number }
  | {
      readonly kind: 'dead';
      readonly error: string;
      readonly reason: DeadReason;
      /** No publish was tried before the verdict, so `attempts` stays as it is. */
      readonly untried?: boolean;
    }
  | { readonly kind: 'released'; readonly delayMs?: number }
);

/** What an outcome adds to a row's `attempts`, which counts the publishes that failed. */
export function attemptsOf(outcome: Outcome): 0 | 1 {
  if (outcome.kind === 'failed') return 1;
  return outcome.kind === 'dead' && !outcome.untried ? 1 : 0;
}

/** Whether the row has to be published before the rows of its key behind it. */
export function comesFirstAgain({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'released';
}
