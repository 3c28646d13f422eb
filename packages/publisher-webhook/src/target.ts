/** What is wrong with an address, or undefined. Never quotes it: a path or query may be a secret. */
export function urlProblem(value: unknown): string | undefined {
  const url = parsed(value);
  if (!url) return 'is not an absolute URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username || url.password) return 'must not have a user or password; send them with headers';
  return undefined;
}

function parsed(value: unknown): URL | undefined {
  const text = value instanceof URL ? value.href : value;
  return typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
}
