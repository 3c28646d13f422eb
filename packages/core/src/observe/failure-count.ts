/** When failures are too many. */
export interface FailureThreshold {
  /** More failures than this, of one topic. */
  readonly threshold: number;
  /** Within this time, to within a sixtieth of it. */
  readonly windowMs: number;
}

/** The failures of one topic in the last `windowMs`. */
export interface FailureCount extends FailureThreshold {
  readonly topic: string;
  readonly count: number;
}
