/** What a row keeps of an error: enough to understand it, never enough to hurt the table. */
const MAX_ERROR_BYTES = 8_192;
const MAX_CAUSES = 5;

/**
 * The text of whatever was thrown, with its causes: `fetch failed: connect ECONNREFUSED`. Credentials in
 * addresses are masked, characters that a database can't hold are replaced, and it is cut at 8 KiB.
 */
export function errorText(error: unknown): string {
  const text = messages(error, 0)
    .join(': ')
    .replaceAll('\u0000', '\uFFFD')
    .replace(/:\/\/[^\s/@]*@/g, '://***@')
    .toWellFormed();
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ERROR_BYTES));
  return text.slice(0, read);
}

function messages(error: unknown, depth: number): string[] {
  if (depth >= MAX_CAUSES) return [];
  if (!(error instanceof Error)) return [describe(error)];
  const own = error.message || error.name;
  const inner =
    error instanceof AggregateError
      ? [error.errors.flatMap((one) => messages(one, depth + 1)).join('; ')]
      : [];
  const cause = error.cause === undefined ? [] : messages(error.cause, depth + 1);
  return [own, ...inner, ...cause];
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
