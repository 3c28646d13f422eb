/** When failures are too many. */
export interface FailureThreshold {
  /** The hook fires when a topic has more failures than this. */
  readonly threshold: number;
  /** The time window, accurate to a sixtieth of it. */
  readonly windowMs: number;
}

/** The failures of one topic in the last `windowMs`. */
export interface FailureCount extends FailureThreshold {
  readonly topic: string;
  readonly count: number;
}
