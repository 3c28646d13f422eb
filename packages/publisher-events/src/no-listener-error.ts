import type { DeadReason, OutboxRow } from '@postcommit/core';

/** What becomes of a row that no listener of this process hears. */
export type NoListenerPolicy = 'dead' | 'release' | 'complete';

/** Doubled with each attempt: four waits last longer than a rolling deployment of a minute. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;

/** No listener of this process hears a row. Permanent, unless it is released for an instance that has one. */
export class NoListenerError extends Error {
  override readonly name = 'NoListenerError';
  readonly permanent: boolean;
  /** Also of a released row whose last attempt this was. */
  readonly deadReason: DeadReason = 'no-listener';
  declare readonly retryAfterMs?: number;

  constructor(
    message: string,
    { attempts }: Pick<OutboxRow, 'attempts'>,
    policy: Exclude<NoListenerPolicy, 'complete'>,
  ) {
    super(message);
    this.permanent = policy === 'dead';
    if (!this.permanent) this.retryAfterMs = Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS);
  }
}
