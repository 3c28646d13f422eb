import { OutboxError } from '@postcommit/core';
import { type Headers, headersOf, pairsOfFlatList, textOf, valueIn } from './headers-of.js';
import { parsedObject } from './parsed-object.js';
import { snsEnvelope, sqsAttributes } from './sqs-attributes.js';

/** What all brokers' messages have in common. */
export interface ReadMessage {
  /** Where the broker or its protocol has the id of the message, and what is there. */
  readonly native?: { readonly place: string; readonly id: unknown };
  readonly headers: Headers;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

/** @throws `INVALID_ARGUMENT` for what is no message of a known client. */
export function readMessage(where: string, message: unknown): ReadMessage {
  if (Array.isArray(message)) return ofRedis(message[1]);
  if (typeof message !== 'object' || message === null) throw unknownShape(where);
  const fields: Readonly<Record<string, unknown>> = { ...known(message) };
  const { properties, MessageAttributes, Body, messageAttributes, message: inner } = fields;
  if (isObject(properties)) return ofAmqp(properties, fields.content);
  if (MessageAttributes !== undefined || typeof Body === 'string') return ofSqs(MessageAttributes, Body);
  if (isObject(messageAttributes)) return ofSqs(messageAttributes, fields.body);
  if (isObject(inner)) return 'partition' in fields ? readMessage(where, inner) : ofRedis(inner);
  if ('subject' in fields) return ofNats(fields);
  if ('value' in fields) return ofHeaders(fields.headers, fields.value);
  if (isObject(fields.headers)) return ofHttp(fields.headers, fields.body);
  throw unknownShape(where);
}

const NAMES = [
  ...['properties', 'content', 'MessageAttributes', 'Body', 'messageAttributes', 'message', 'partition'],
  ...['subject', 'data', 'value', 'headers', 'body'],
];

/** Clients' messages have getters, also on their prototypes. */
function known(message: object): Record<string, unknown> {
  const present = NAMES.filter((name) => name in message);
  return Object.fromEntries(present.map((name) => [name, Reflect.get(message, name)]));
}

function ofAmqp(properties: object, content: unknown): ReadMessage {
  const { messageId, contentType, headers } = properties as Record<string, unknown>;
  const native = { place: 'properties.messageId', id: messageId };
  return { native, headers: headersOf(headers), contentType: textOf(contentType), body: content };
}

function ofNats({ headers: given, data }: Readonly<Record<string, unknown>>): ReadMessage {
  const read = ofHeaders(given, data);
  return { ...read, native: { place: 'the header Nats-Msg-Id', id: read.headers.get('nats-msg-id') } };
}

/** Only the signature of `webhook-id` is checked, so no other header comes before it. */
function ofHttp(given: object, body: unknown): ReadMessage {
  const read = ofHeaders(given, body);
  return { ...read, native: { place: 'the header webhook-id', id: read.headers.get('webhook-id') } };
}

function ofHeaders(given: unknown, body: unknown): ReadMessage {
  const headers = headersOf(given);
  return { headers, contentType: headers.get('content-type'), body };
}

function ofSqs(attributes: unknown, body: unknown): ReadMessage {
  const envelope = snsEnvelope(body);
  const headers = sqsAttributes(envelope?.attributes ?? attributes);
  return { headers, contentType: headers.get('content-type'), body: envelope ? envelope.message : body };
}

/** Entries of Postcommit have their headers as JSON in one field. A field `id` may be that of anything. */
function ofRedis(given: unknown): ReadMessage {
  const fields = Array.isArray(given) ? pairsOfFlatList(given) : given;
  const texts = headersOf(fields);
  const headers = new Map([...headersOf(parsedObject(texts.get('headers'))), ...texts]);
  const body = ['payload', 'data', 'body'].map((name) => valueIn(fields, name)).find(isPresent);
  return { headers, contentType: headers.get('content-type') ?? headers.get('contenttype'), body };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isPresent(value: unknown): boolean {
  return value !== undefined;
}

function unknownShape(where: string): OutboxError {
  return new OutboxError(
    'INVALID_ARGUMENT',
    `${where}: this is not a message of a known client: pass the whole message, not its body`,
  );
}
