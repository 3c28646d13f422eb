/** What is known about the time until the next poll. */
export interface LookAhead {
  /**
   * In how many milliseconds, by the store's clock and rounded up, the first row falls due that is not due yet; absent if
   * there is none, or if the store does not know. Rows that are already due don't count, whether they are claimed, wait
   * behind their key or may be claimed now.
   */
  readonly nextDueInMs?: number;
  /** Topics that are paused in all processes. */
  readonly pausedTopics: readonly string[];
}
