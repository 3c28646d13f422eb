/** What a header may not be, for a message: undefined if it can be sent as it is. */
export function headerProblem(name: string, value: unknown): string | undefined {
  if (!NAME.test(name)) return `header name ${JSON.stringify(name.slice(0, 80))} is invalid in HTTP`;
  if (UNSENDABLE.has(name.toLowerCase())) return `header '${name}' can't be set`;
  if (typeof value !== 'string') return `header '${name}' is not a string`;
  if (!VALUE.test(value)) {
    return `header '${name}' has characters other than printable ASCII, or spaces at its ends`;
  }
  return undefined;
}

/** Percent-encodes what HTTP headers can't carry as it is, as the CloudEvents binding has it. */
export function headerValue(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]|["%]/gu, encodeURIComponent);
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Receivers disagree about the encoding of anything else, and spaces at the ends are dropped. */
const VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/;
/** They belong to the connection, except for `__proto__`, which `fetch` drops. */
const UNSENDABLE: ReadonlySet<string> = new Set([
  '__proto__',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
