import { renewalIntervalMs } from './timing.js';

/** How long a claim lasts unless it is extended. */
export const DEFAULT_CLAIM_TIMEOUT_MS = 5 * 60_000;
export const DEFAULT_PUBLISH_TIMEOUT_MS = 30_000;

/**
 * A publish must take less: it must end or time out one heartbeat before its claim can expire. Otherwise two owners
 * could publish a row at once.
 */
export function longestPublishMs(claimTimeoutMs: number): number {
  return claimTimeoutMs - renewalIntervalMs(claimTimeoutMs);
}
