import type { DeadReason } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';
import type { Delivery, ListenerFailure } from './event-bus.js';

/** A row stores 8 KiB of an error. Shared equally, so that one long error does not cut off the other listeners' names. */
const MAX_TEXT_LENGTH = 6_000;

/**
 * Some listeners of a row failed. The message names each with its error and causes. It is permanent only if all errors
 * are; otherwise the row is retried, after the longest `retryAfterMs` of the errors.
 */
export class ListenersFailedError extends Error {
  override readonly name = 'ListenersFailedError';
  /** The original errors. Not called `errors` or `cause`, because `lastError` of the row would repeat each of them. */
  readonly failures: readonly ListenerFailure[];
  readonly permanent: boolean;
  /** The reason of the permanent errors if they all have the same one; otherwise `permanent`. */
  declare readonly deadReason?: DeadReason;
  declare readonly retryAfterMs?: number;

  constructor(delivery: Delivery) {
    super(messageOf(delivery));
    this.failures = delivery.failures;
    const fields = this.failures.map(({ error }) => fieldsOf(error));
    this.permanent = fields.every(({ permanent }) => permanent === true);
    if (this.permanent) this.deadReason = commonReason(fields);
    const waitMs = longestWaitMs(fields);
    if (waitMs > 0) this.retryAfterMs = waitMs;
  }
}

function messageOf({ listeners, failures }: Delivery): string {
  const share = Math.floor(MAX_TEXT_LENGTH / failures.length);
  const texts = failures.map(({ listener, error }) => `${listener}: ${errorText(error)}`.slice(0, share));
  return `${failures.length} of ${listeners} listeners failed: ${texts.join('; ')}`;
}

interface ErrorFields {
  readonly permanent?: unknown;
  readonly deadReason?: unknown;
  readonly retryAfterMs?: unknown;
}

/** Reads fields, not the class: an error may come from another copy of the core, or from any other library. */
function fieldsOf(error: unknown): ErrorFields {
  return typeof error === 'object' && error !== null ? error : {};
}

function commonReason(fields: readonly ErrorFields[]): DeadReason {
  const reasons = new Set(fields.map(({ deadReason }) => deadReason));
  const [reason] = reasons;
  // The dispatcher checks that it knows the reason.
  return reasons.size === 1 && typeof reason === 'string' ? (reason as DeadReason) : 'permanent';
}

/** Ignores permanent errors: they are not retried, so their wait must not delay the others. */
function longestWaitMs(fields: readonly ErrorFields[]): number {
  const waits = fields.map(({ permanent, retryAfterMs }) => (permanent === true ? 0 : retryAfterMs));
  return Math.max(0, ...waits.filter((wait) => typeof wait === 'number' && wait > 0).map(Number));
}
