import type { DeadReason } from './dead-reason.js';
import { unknownOption } from './unknown-option.js';

/** Stable codes: switch on these, not on messages. `docs/reference/errors.md` explains causes and fixes. */
export type OutboxErrorCode =
  | 'INVALID_ENTRY'
  | 'PAYLOAD_TOO_LARGE'
  | 'SCHEMA_MISMATCH'
  | 'DUPLICATE_ID'
  | 'INVALID_RETRY_POLICY'
  | 'INVALID_CONFIG'
  | 'INVALID_ARGUMENT'
  | 'INVALID_MESSAGE'
  | 'INVALID_TRANSACTION'
  | 'ROW_NOT_FOUND'
  | 'SCHEMA_OUTDATED'
  | 'FOREIGN_TABLE'
  | 'KEYED_CLAIMS_BLOCKED'
  | 'PUBLISHER_STUCK'
  | 'MISSING_BINDING'
  | 'DOUBLED_BINDING'
  | 'CYCLIC_BINDING'
  | 'START_ABANDONED';

/** The error that all Postcommit packages throw. Switch on `code`; `cause` holds the original error. */
export class OutboxError extends Error {
  override readonly name = 'OutboxError';
  readonly code: OutboxErrorCode;

  constructor(code: OutboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Returns true for an `OutboxError` from any copy of this package: a process may load both the ESM and CommonJS one.
 */
export function isOutboxError(error: unknown): error is OutboxError {
  return error instanceof Error && error.name === 'OutboxError' && 'code' in error;
}

export interface PermanentErrorOptions extends ErrorOptions {
  /** Recorded as the row's `deadReason`. @default 'permanent' */
  reason?: DeadReason;
}

/** Throw it from a publisher when a retry can't help: the row is dead at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  readonly permanent = true;
  readonly deadReason: DeadReason;

  constructor(message: string, options: PermanentErrorOptions = {}) {
    assertOptions('PermanentError', options, { cause: true, reason: true });
    super(message, options);
    this.deadReason = options.reason ?? 'permanent';
  }
}

/** Throw it from a publisher when a retry may help, but no sooner than after `retryAfterMs`. */
export class TransientError extends Error {
  override readonly name: string = 'TransientError';
  readonly permanent = false;
  readonly retryAfterMs?: number;

  constructor(message: string, retryAfterMs?: number, options: ErrorOptions = {}) {
    assertOptions('TransientError', options, { cause: true });
    super(message, options);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

export interface UnavailableErrorOptions extends ErrorOptions {
  /** How long the destination asked to be left alone. */
  retryAfterMs?: number;
  /** One such error is enough to know that every row would fail, such as a refused login. @default false */
  isCertain?: boolean;
}

/**
 * Throw it from a publisher when the destination is away and the row is not to blame. The row keeps its attempts, and
 * nothing more is sent to that destination until one row gets through.
 */
export class UnavailableError extends TransientError {
  override readonly name = 'UnavailableError';
  readonly unavailable = true;
  readonly isCertain: boolean;

  constructor(message: string, options: UnavailableErrorOptions = {}) {
    assertOptions('UnavailableError', options, { cause: true, retryAfterMs: true, isCertain: true });
    const { retryAfterMs, isCertain = false, ...cause } = options;
    super(message, retryAfterMs, cause);
    this.isCertain = isCertain;
  }
}

function assertOptions<Options extends object>(
  where: string,
  options: Options,
  names: Readonly<Record<keyof Options, true>>,
): void {
  const problem = unknownOption(options, names);
  if (problem) throw new OutboxError('INVALID_ARGUMENT', `${where}: ${problem}`);
}
