import type { WebhookMessage } from './webhook-message.js';

/** Shorter texts are no secrets, and would mask too much. */
const LEAST_LENGTH = 6;
/** A receiver may repeat only the beginning of a message. */
const BEGINNING_LENGTH = 40;
const MASK = '***';

/** Masks what a receiver repeats of a request: credentials, signatures, the path of the URL, and the message. */
export function maskSent(text: string, { request: { url, body }, secretHeaders }: WebhookMessage): string {
  const message = Buffer.from(body).toString();
  const messages = [message, JSON.stringify(message).slice(1, -1)];
  const headers = secretHeaders.flatMap((value) => [value, ...value.split(/[ ,]+/)]);
  const secrets = [...messages, `${url.pathname}${url.search}`, url.pathname, url.search, ...headers]
    .filter(({ length }) => length >= LEAST_LENGTH)
    // A part of another one must not be masked before it.
    .sort((one, other) => other.length - one.length);
  const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), text);
  return messages.reduce(withoutBeginningOf, masked);
}

/** What follows may be the message, so it goes too. */
function withoutBeginningOf(text: string, message: string): string {
  if (message.length < BEGINNING_LENGTH) return text;
  const at = text.indexOf(message.slice(0, BEGINNING_LENGTH));
  return at === -1 ? text : text.slice(0, at) + MASK;
}
