/** How a row is retried, frozen with it at enqueue. What is left out, the dispatcher's configuration decides. */
export interface RetryOptions {
  /** Total tries, the first one included. */
  readonly maxAttempts?: number | undefined;
  readonly backoff?: BackoffOptions | undefined;
}

/**
 * Randomness that keeps a thousand rows which failed together from coming back together.
 * `full`: anywhere up to the delay. `equal`: its upper half. `decorrelated`: up to three times the previous one.
 */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated';

/** How long a failed row waits. Plain data, so that it can be stored with a row. */
export type BackoffOptions = DelayBackoff | NamedBackoff;

/** A wait computed from numbers. */
export interface DelayBackoff {
  /** `exponential` doubles the delay after each failure. */
  readonly type: 'fixed' | 'exponential';
  /** The wait after the first failure. */
  readonly delayMs: number;
  /** No wait is longer. Default: one day, or `delayMs` if that is longer. */
  readonly maxDelayMs?: number;
  /** Default `none`. */
  readonly jitter?: Jitter;
}

/** A wait decided by the function of this name in `backoffStrategies` of the dispatcher's configuration. */
export interface NamedBackoff {
  /** Any name but `fixed` and `exponential`: 1 to 100 printable ASCII characters. */
  readonly type: string;
  // Absent: with a delay, a name is a misspelt type.
  readonly delayMs?: never;
  readonly maxDelayMs?: never;
  readonly jitter?: never;
}
