/** What a row keeps of an error: enough to understand it, never enough to hurt the table. */
const MAX_ERROR_BYTES = 8_192;
const MAX_CAUSES = 5;

/**
 * The text of whatever was thrown, with its causes: `fetch failed: connect ECONNREFUSED`. Credentials in
 * addresses are masked, characters that a database can't hold are replaced, and it is cut at 8 KiB.
 */
export function errorText(error: unknown): string {
  const text = readable(error)
    .replaceAll('\u0000', '\uFFFD')
    // A password may contain a slash; then it shows only by the colon before it.
    .replace(/:\/\/(?:[^\s/:@]*:\S*|[^\s/]*)@/g, '://***@')
    .toWellFormed();
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ERROR_BYTES));
  return text.slice(0, read);
}

/** Whatever was thrown can be described, even if reading it throws in turn. */
function readable(error: unknown): string {
  try {
    return messages(error, 0).join(': ');
  } catch {
    return 'an error that could not be read';
  }
}

function messages(error: unknown, depth: number): string[] {
  if (depth >= MAX_CAUSES) return [];
  if (!isErrorLike(error)) return [describe(error)];
  const inner = Array.isArray(error.errors) ? error.errors.flatMap((one) => messages(one, depth + 1)) : [];
  const cause = error.cause === undefined ? [] : messages(error.cause, depth + 1);
  return [error.message || error.name || 'Error', ...(inner.length > 0 ? [inner.join('; ')] : []), ...cause];
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
