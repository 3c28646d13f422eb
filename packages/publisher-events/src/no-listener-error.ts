import type { DeadReason, OutboxRow } from '@postcommit/core';

/** What happens to a row without a listener in this process. */
export type NoListenerPolicy = 'dead' | 'release' | 'complete';

/** Doubled with each attempt: four waits outlast a rolling deployment of a minute. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;

/** A row has no listener in this process. Permanent, unless the row is released for an instance that has one. */
export class NoListenerError extends Error {
  override readonly name = 'NoListenerError';
  readonly permanent: boolean;
  /** Also the reason of a released row after its last attempt. */
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
