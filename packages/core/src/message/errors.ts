import type { DeadReason } from './dead-reason.js';

/** Stable: switch on these, not on messages. `docs/reference/errors.md` has cause and cure of each. */
export type OutboxErrorCode =
  | 'INVALID_ENTRY'
  | 'PAYLOAD_TOO_LARGE'
  | 'SCHEMA_MISMATCH'
  | 'DUPLICATE_ID'
  | 'INVALID_RETRY_POLICY'
  | 'INVALID_CONFIG'
  | 'INVALID_ARGUMENT'
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

/** Every error this family throws on purpose. Switch on `code`; read `cause` for the origin. */
export class OutboxError extends Error {
  override readonly name = 'OutboxError';
  readonly code: OutboxErrorCode;

  constructor(code: OutboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** True for an `OutboxError` of any copy of this package: an ESM and a CommonJS one may meet in a process. */
export function isOutboxError(error: unknown): error is OutboxError {
  return error instanceof Error && error.name === 'OutboxError' && 'code' in error;
}

export interface PermanentErrorOptions extends ErrorOptions {
  /** Recorded as the row's `deadReason`. Default `permanent`. */
  reason?: DeadReason;
}

/** Thrown by a publisher when trying again cannot help: the row is dead at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  readonly permanent = true;
  readonly deadReason: DeadReason;

  constructor(message: string, options: PermanentErrorOptions = {}) {
    super(message, options);
    this.deadReason = options.reason ?? 'permanent';
  }
}

/** Thrown by a publisher when trying again may help, not sooner than after `retryAfterMs`. */
export class TransientError extends Error {
  override readonly name = 'TransientError';
  readonly permanent = false;
  readonly retryAfterMs?: number;

  constructor(message: string, retryAfterMs?: number, options?: ErrorOptions) {
    super(message, options);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
