import { leastDelayMs, type RetryAfterFields } from '../message/retry-after.js';

/** What an error says about the destination: it is away, and the row is not to blame. */
export interface Absence {
  /** Every other row would fail too. If not, it may have been this row or a moment of bad luck. */
  readonly isCertain: boolean;
  /** The shortest wait that the destination asked for. */
  readonly retryAfterMs: number;
}

/** Nobody answers at that address. */
const CERTAIN_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/** The connection was cut or could not be made in time. One row can cause that, e.g. one that crashes the receiver. */
const LIKELY_CODES: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Causes may be nested, or refer to each other. */
const MAX_CAUSES = 8;

interface ErrorFields extends RetryAfterFields {
  readonly permanent?: unknown;
  readonly unavailable?: unknown;
  readonly isCertain?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/**
 * Returns undefined if the error is about the row. Publishers say so with `UnavailableError`; for all others, the codes
 * of Node's and undici's network errors count, anywhere in the chain of causes.
 */
export function absenceOf(error: unknown): Absence | undefined {
  let current = fieldsOf(error);
  if (current.permanent === true) return undefined;
  const retryAfterMs = leastDelayMs(current);
  if (current.unavailable === true) return { isCertain: current.isCertain === true, retryAfterMs };
  for (let causes = 0; causes < MAX_CAUSES; causes++) {
    const isCertain = CERTAIN_CODES.has(current.code);
    if (isCertain || LIKELY_CODES.has(current.code)) return { isCertain, retryAfterMs };
    if (current.cause === undefined) return undefined;
    current = fieldsOf(current.cause);
  }
  return undefined;
}

/** An error whose fields can't be read, such as a revoked Proxy, has none. */
function fieldsOf(error: unknown): ErrorFields {
  if (typeof error !== 'object' || error === null) return {};
  try {
    const { permanent, unavailable, isCertain, retryAfterMs, retryAfter, code, cause } = error as ErrorFields;
    return { permanent, unavailable, isCertain, retryAfterMs, retryAfter, code, cause };
  } catch {
    return {};
  }
}
