import { maskSecrets } from './mask-secrets.js';

/** What a row keeps of an error: enough to understand it, never enough to hurt the table. */
const MAX_ERROR_BYTES = 8_192;
/** What is looked at: the rest is never kept, and masking it would cost time that whoever wrote it decides. */
const MAX_READ_LENGTH = 4 * MAX_ERROR_BYTES;
const MAX_CAUSES = 5;
/** In all: an AggregateError may hold thousands, each of them with its own. */
const MAX_ERRORS = 32;

/**
 * The text of whatever was thrown, with its causes: `fetch failed: connect ECONNREFUSED`. Credentials are masked,
 * characters that a database can't hold are replaced, and it is cut at 8 KiB.
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
  // An address that the cut goes through has lost the @ by which its credentials are found.
  return address === -1 || /[\s@]/.test(cut.slice(address)) ? cut : cut.slice(0, address);
}

/** Whatever was thrown can be described, even if reading it throws in turn. */
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
    const inner = this.#gathered(error.errors, depth + 1);
    const cause = error.cause === undefined ? [] : this.messages(error.cause, depth + 1);
    return [message, ...(inner.length > 0 ? [inner.join('; ')] : []), ...cause];
  }

  #gathered(errors: unknown, depth: number): string[] {
    if (!Array.isArray(errors)) return [];
    return errors.slice(0, this.#errorsLeft).flatMap((one) => this.messages(one, depth));
  }
}

/** By its fields: an error of another realm is not an instance of ours. */
function isErrorLike(
  thrown: unknown,
): thrown is { message: string; name?: string; cause?: unknown; errors?: unknown } {
  return (
    typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string'
  );
}

/** Throwing a string, an object or nothing is odd but must still be recorded. */
function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
