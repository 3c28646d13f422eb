import { OutboxError } from '@postcommit/core';
import type { BrokerMessage } from './broker-message.js';
import { binaryAttributes, isStructured, mediaType, structuredDocument } from './cloud-event-mode.js';
import { textOf } from './headers-of.js';
import { invalidMessage } from './invalid-message.js';
import { type ReadMessage, readMessage } from './read-message.js';

/** An event of CloudEvents 1.0, whatever the mode and the transport it came with. */
export interface CloudEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  /** As it was sent: an RFC 3339 timestamp. */
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  /** Other attributes as text, such as `partitionkey` and `traceparent`. */
  readonly extensions: Readonly<Record<string, string>>;
  /** What was parsed, for JSON; a string, for text; bytes, for everything else. Undefined if there is none. */
  readonly data: unknown;
}

const REQUIRED = ['id', 'source', 'type'] as const;
const OPTIONAL = ['subject', 'time', 'datacontenttype', 'dataschema'] as const;
const NOT_EXTENSIONS: readonly string[] = ['specversion', ...REQUIRED, ...OPTIONAL, 'data', 'data_base64'];

/**
 * Parses a message that is a CloudEvent: a JSON document (structured mode), or a body with attributes in headers (binary
 * mode: `ce-` of HTTP and NATS, `ce_` of Kafka, `cloudEvents_` of AMQP).
 *
 * @throws `INVALID_MESSAGE` for what is not a CloudEvent of version 1.0, `INVALID_ARGUMENT` for what is no message.
 *
 * @example
 * const { type, data } = cloudEventOf(message);
 */
export function cloudEventOf(message: BrokerMessage): CloudEvent {
  const read = readMessage('cloudEventOf', message);
  assertBody(message, read);
  const binary = isOfStructuredType(read) ? undefined : attributesInHeaders(read);
  if (binary) return eventOf(withContentType(binary, read), () => dataIn(read.body, read.contentType));
  const document = structuredDocument(read) ?? refuse(read);
  return eventOf(document, () => dataOf(document));
}

/** @throws `INVALID_ARGUMENT` for a request whose body nobody has read. */
function assertBody(message: BrokerMessage, { body }: ReadMessage): void {
  const source = body ?? message;
  const isStream = typeof source === 'object' && Symbol.asyncIterator in source;
  if (!isStream) return;
  const problem = 'cloudEventOf: the body is a stream: read it, and pass { headers, body }';
  throw new OutboxError('INVALID_ARGUMENT', problem);
}

function isOfStructuredType({ contentType }: ReadMessage): boolean {
  return contentType !== undefined && isStructured(contentType);
}

function attributesInHeaders({ headers }: ReadMessage): Record<string, string> | undefined {
  try {
    return binaryAttributes(headers);
  } catch {
    throw invalidMessage('the CloudEvent has an attribute that is not percent-encoded as HTTP requires it');
  }
}

function withContentType(attributes: Record<string, string>, { contentType }: ReadMessage): object {
  return { ...attributes, ...(contentType !== undefined && { datacontenttype: contentType }) };
}

function refuse(read: ReadMessage): never {
  if (isOfStructuredType(read))
    throw invalidMessage('the CloudEvent is not a JSON object, as its content type says');
  if (read.contentType !== undefined && mediaType(read.contentType).startsWith('application/cloudevents'))
    throw invalidMessage(`CloudEvents as ${mediaType(read.contentType)} are not supported`);
  throw invalidMessage(
    'the message is not a CloudEvent: its content type is not application/cloudevents+json, and it has no header ce-specversion or ce_specversion',
  );
}

function eventOf(attributes: object, data: () => unknown): CloudEvent {
  const texts = new Map(Object.entries(attributes).flatMap(([name, value]) => attributeText(name, value)));
  if (texts.get('specversion') !== '1.0')
    throw invalidMessage('the CloudEvent is not one of specversion 1.0');
  const required = REQUIRED.map((name) => [name, requiredIn(texts, name)]);
  const optional = OPTIONAL.filter((name) => texts.has(name)).map((name) => [name, texts.get(name)]);
  const extensions = [...texts].filter(([name]) => !NOT_EXTENSIONS.includes(name));
  const named = Object.fromEntries([...required, ...optional]) as Pick<CloudEvent, 'id' | 'source' | 'type'>;
  return { specversion: '1.0', ...named, extensions: Object.fromEntries(extensions), data: data() };
}

/** In JSON, an attribute may also be a boolean or a whole number; null says that there is none. */
function attributeText(name: string, value: unknown): Array<readonly [string, string]> {
  if (value === null || value === undefined || name === 'data' || name === 'data_base64') return [];
  if (typeof value === 'object')
    throw invalidMessage(`the CloudEvent has a wrong attribute '${name.slice(0, 80)}'`);
  return [[name, String(value)]];
}

function requiredIn(texts: ReadonlyMap<string, string>, name: string): string {
  const text = texts.get(name);
  if (text === undefined || text === '') throw invalidMessage(`the CloudEvent has no ${name}`);
  return text;
}

function dataOf({ data, data_base64: encoded }: Readonly<Record<string, unknown>>): unknown {
  if (encoded === undefined || encoded === null) return data;
  if (data !== undefined) throw invalidMessage('the CloudEvent has both data and data_base64');
  if (typeof encoded !== 'string') throw invalidMessage('the data_base64 of the CloudEvent is not a text');
  return new Uint8Array(Buffer.from(encoded, 'base64'));
}

function dataIn(body: unknown, contentType = ''): unknown {
  const type = mediaType(contentType);
  const isJson = type.endsWith('/json') || type.endsWith('+json');
  if (isJson) return parsedData(body);
  return type.startsWith('text/') ? textOf(body) : body;
}

function parsedData(body: unknown): unknown {
  const text = textOf(body);
  if (text === undefined) return body;
  try {
    return JSON.parse(text);
  } catch {
    throw invalidMessage('the data of the CloudEvent is not JSON, as its content type says');
  }
}
