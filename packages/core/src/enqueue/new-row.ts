import type { BackoffOptions } from '../message/retry-options.js';

/** A validated entry, as a store writes it. */
export interface NewRow {
  readonly id: string;
  readonly topic: string;
  /** JSON text. */
  readonly payload: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** If absent: now, by the database's clock. */
  readonly availableAt?: Date;
  readonly maxAttempts?: number;
  readonly backoff?: BackoffOptions;
}
