import { maskSecrets } from './mask-secrets.js';

/** The longest error text stored with a row. */
const MAX_ERROR_BYTES = 8_192;
/** The longest text that is read. Masking more would let whoever wrote the error decide how long it takes. */
const MAX_READ_LENGTH = 4 * MAX_ERROR_BYTES;
const MAX_CAUSES = 5;
/** Errors read in total: an AggregateError may hold thousands, each with its own causes. */
const MAX_ERRORS = 32;

/**
 * Returns the text of a thrown value and its causes: `fetch failed: connect ECONNREFUSED`. Masks credentials, replaces
 * characters that databases can't store, and truncates at 8 KiB. Never throws.
 */
export function errorText(error: unknown): string {
  const text = maskSecrets(beginning(readable(error)).replaceAll('\u0000', '\uFFFD')).toWellFormed();
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ERROR_BYTES));
  return text.slice(0, read);
}

function beginning(text: string): string {
  if (text.length <= MAX_READ_LENGTH) return text;
  const cut = text.slice(0, MAX_READ_LENGTH);
  const address = cut.lastIndexOf('://');
  // If the cut splits an address, the @ that marks its credentials is lost, so drop the address too.
  return address === -1 || /[\s@]/.test(cut.slice(address)) ? cut : cut.slice(0, address);
}

/** Never throws, even if reading the error does. */
function readable(error: unknown): string {
  try {
    return new ErrorReader().messages(error).join(': ');
  } catch {
    return 'an error that could not be read';
  }
}

class ErrorReader {
  #errorsLeft = MAX_ERRORS;

  messages(error: unknown, depth = 0): string[] {
    if (depth >= MAX_CAUSES || this.#errorsLeft === 0) return [];
    this.#errorsLeft--;
    if (!isErrorLike(error)) return [describe(error)];
    const message = (error.message || error.name || 'Error').slice(0, MAX_READ_LENGTH);
    const inner = this.#innerMessages(error.errors, depth + 1);
    const cause = error.cause === undefined ? [] : this.messages(error.cause, depth + 1);
    return [message, ...(inner.length > 0 ? [inner.join('; ')] : []), ...cause];
  }

  #innerMessages(errors: unknown, depth: number): string[] {
    if (!Array.isArray(errors)) return [];
    return errors.slice(0, this.#errorsLeft).flatMap((one) => this.messages(one, depth));
  }
}

/** Checks fields, because an error from another realm is not an `instanceof Error`. */
function isErrorLike(
  thrown: unknown,
): thrown is { message: string; name?: string; cause?: unknown; errors?: unknown } {
  return (
    typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string'
  );
}

/** Code may throw strings, objects or undefined. */
function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
