/** What an error may say about the next attempt. */
export interface RetryAfterFields {
  readonly retryAfterMs?: unknown;
  readonly retryAfter?: unknown;
}

/** The shortest delay that the receiver asked for. `retryAfter` is in seconds, as in the HTTP header. */
export function leastDelayMs({ retryAfterMs, retryAfter }: RetryAfterFields): number {
  if (typeof retryAfterMs === 'number' && retryAfterMs >= 0) return retryAfterMs;
  const isSeconds = typeof retryAfter === 'number' && Number.isFinite(retryAfter) && retryAfter >= 0;
  return isSeconds ? retryAfter * 1_000 : 0;
}
