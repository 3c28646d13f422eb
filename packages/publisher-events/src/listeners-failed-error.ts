import { type DeadReason, errorText } from '@postcommit/core';
import type { Delivery, ListenerFailure } from './event-bus.js';

/** A row keeps 8 KiB of an error; shared out, so that the first listener's can't push out the names of the others. */
const MAX_TEXT_LENGTH = 6_000;

/**
 * Some listeners of a row failed. The message names each with its error and its causes. It is permanent only if all of
 * them are: otherwise trying again may help, not sooner than the most patient one asks.
 */
export class ListenersFailedError extends Error {
  override readonly name = 'ListenersFailedError';
  /** What was thrown, as it was thrown. Not `errors` or `cause`: a row's `lastError` would say each of them twice. */
  readonly failures: readonly ListenerFailure[];
  readonly permanent: boolean;
  /** What all permanent errors say, if they agree. */
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

/** By its fields, never by its class: an error may come from another copy of the core, or from nobody's. */
function fieldsOf(error: unknown): ErrorFields {
  return typeof error === 'object' && error !== null ? error : {};
}

function commonReason(fields: readonly ErrorFields[]): DeadReason {
  const reasons = new Set(fields.map(({ deadReason }) => deadReason));
  const [reason] = reasons;
  // The dispatcher checks that it is a reason it knows.
  return reasons.size === 1 && typeof reason === 'string' ? (reason as DeadReason) : 'permanent';
}

/** A permanent error asks for nothing: its wait, if it has one, must not hold up the others. */
function longestWaitMs(fields: readonly ErrorFields[]): number {
  const waits = fields.map(({ permanent, retryAfterMs }) => (permanent === true ? 0 : retryAfterMs));
  return Math.max(0, ...waits.filter((wait) => typeof wait === 'number' && wait > 0).map(Number));
}
