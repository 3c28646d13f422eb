/** How a row is retried. Stored with the row; fields left out follow the dispatcher's configuration. */
export interface RetryOptions {
  /** Attempts before the row is dead, the first one included. */
  readonly maxAttempts?: number | undefined;
  readonly backoff?: BackoffOptions | undefined;
}

/**
 * Randomizes delays, so that rows that failed together are not retried together.
 * `full`: between 0 and the delay. `equal`: between half the delay and the delay. `decorrelated`: between `delayMs` and
 * three times the previous delay.
 */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated';

/** How long a failed row waits. Plain data, because it is stored with the row. */
export type BackoffOptions = DelayBackoff | NamedBackoff;

/** A delay computed from numbers. */
export interface DelayBackoff {
  /** `exponential` doubles the delay after each failure. */
  readonly type: 'fixed' | 'exponential';
  /** The delay after the first failure. */
  readonly delayMs: number;
  /** The longest delay. @default one day, or `delayMs` if that is longer */
  readonly maxDelayMs?: number;
  /** @default 'none' */
  readonly jitter?: Jitter;
}

/** A delay computed by the function of this name in the dispatcher's `backoffStrategies`. */
export interface NamedBackoff {
  /** Any name but `fixed` and `exponential`: 1 to 100 printable ASCII characters. */
  readonly type: string;
  // Not allowed: a name with a delay is probably a misspelt `fixed` or `exponential`.
  readonly delayMs?: never;
  readonly maxDelayMs?: never;
  readonly jitter?: never;
}
