import type { Headers } from './headers-of.js';
import { parsedObject } from './parsed-object.js';
import type { ReadMessage } from './read-message.js';

/** What the bindings of HTTP and NATS, Kafka and AMQP put before the names of attributes. */
const PREFIXES = ['ce-', 'ce_', 'cloudevents_', 'cloudevents:'] as const;
/** Its values are percent-encoded. */
const ENCODED_PREFIX = 'ce-';

/** The names of the header with the id, in binary mode. */
export const ID_ATTRIBUTES: readonly string[] = PREFIXES.map((prefix) => `${prefix}id`);

/**
 * The document of a structured CloudEvent. Some transports have no content type: there, a document that looks like one is
 * taken as one.
 */
export function structuredDocument({
  contentType,
  headers,
  body,
}: ReadMessage): Record<string, unknown> | undefined {
  if (contentType !== undefined) return isStructured(contentType) ? parsedObject(body) : undefined;
  if (binaryPrefix(headers) !== undefined) return undefined;
  const document = parsedObject(body);
  return typeof document?.specversion === 'string' ? document : undefined;
}

/** Whether the content type says that the body is one CloudEvent as JSON. */
export function isStructured(contentType: string): boolean {
  return mediaType(contentType) === 'application/cloudevents+json';
}

/** The content type without its parameters. */
export function mediaType(contentType: string): string {
  const [type = ''] = contentType.toLowerCase().split(';', 1);
  return type.trim();
}

/** The attributes of a CloudEvent in binary mode, or undefined if it is none. */
export function binaryAttributes(headers: Headers): Record<string, string> | undefined {
  const prefix = binaryPrefix(headers);
  if (prefix === undefined) return undefined;
  const own = [...headers].filter(([name]) => name.startsWith(prefix));
  const decode = prefix === ENCODED_PREFIX ? decodeURIComponent : (value: string): string => value;
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), decode(value)]));
}

function binaryPrefix(headers: Headers): string | undefined {
  return PREFIXES.find((prefix) => headers.has(`${prefix}specversion`));
}
