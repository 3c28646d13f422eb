/** What is known about the time until the next poll. */
export interface LookAhead {
  /**
   * Milliseconds until the next row falls due, by the store's clock, rounded up. Absent if there is none, or if the store
   * does not know. Rows that are already due don't count, whether they are claimed, wait behind their key or may be
   * claimed now.
   */
  readonly nextDueInMs?: number;
  /** The store's clock, which stamps `createdAt`, in milliseconds since 1970. Absent if the store does not know. */
  readonly nowMs?: number;
  /** Topics that are paused in all processes. */
  readonly pausedTopics: readonly string[];
}
