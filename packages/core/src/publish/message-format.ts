import { OutboxError, PermanentError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { absenceOf } from './absence.js';

/** The body of a message as a publisher sends it. */
export interface EncodedMessage {
  readonly body: string | Uint8Array;
  readonly contentType: string;
  /** Added to the headers of the row. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How rows become messages; the same for every publisher. */
export interface MessageFormat {
  /**
   * Encodes the payload, e.g. as Avro or Protobuf. Must return the same bytes for the same row. An error that it throws
   * is permanent, unless it is a network error.
   *
   * @default the payload as JSON
   */
  readonly encode?: (row: OutboxRow) => EncodedMessage | Promise<EncodedMessage>;
  /** Sends messages as CloudEvents 1.0, with this `source`. @default the bare payload */
  readonly cloudEvents?: { readonly source: string };
}

/** The headers that every message has, besides those of its row. Consumers find the idempotency key in `outbox-id`. */
export const MESSAGE_HEADERS = {
  id: 'outbox-id',
  topic: 'outbox-topic',
  key: 'outbox-key',
  createdAt: 'outbox-created-at',
} as const;

export const MESSAGE_FORMAT_NAMES: OptionNames<MessageFormat> = { encode: true, cloudEvents: true };
const CLOUD_EVENTS_NAMES: OptionNames<MessageFormat['cloudEvents'] & object> = { source: true };

/** @throws `INVALID_CONFIG`; `where` is the name of the publisher. */
export function assertMessageFormat(where: string, { encode, cloudEvents }: MessageFormat): void {
  if (encode !== undefined && typeof encode !== 'function')
    throw new OutboxError('INVALID_CONFIG', `${where}: encode must be a function`);
  if (cloudEvents === undefined) return;
  assertKnownOptions(`${where}: cloudEvents`, cloudEvents, CLOUD_EVENTS_NAMES);
  const source: unknown = (cloudEvents as Partial<typeof cloudEvents> | null)?.source;
  if (typeof source !== 'string' || source === '')
    throw new OutboxError('INVALID_CONFIG', `${where}: cloudEvents.source must be a URI, such as /orders`);
}

/**
 * The body and content type of a row, and its headers: those of the row, of `encode` and the fields of the row. Later ones
 * win, whatever their case: many transports compare the names without it.
 */
export async function encodeRow(
  row: OutboxRow,
  { encode = asJson }: MessageFormat,
): Promise<Required<EncodedMessage>> {
  const { body, contentType, headers = {} } = await encodeOrRefuse(row, encode);
  return { body, contentType, headers: layered(row.headers, headers, fieldHeaders(row)) };
}

/** The context attributes of CloudEvents 1.0. Trace context is in the headers, as the tracing extension has it. */
export function cloudEventAttributes(row: OutboxRow, source: string): Record<string, string> {
  return {
    specversion: '1.0',
    id: row.id,
    source,
    type: row.topic,
    time: row.createdAt.toISOString(),
    ...(row.key !== undefined && { subject: row.key, partitionkey: row.key }),
    ...tracing(row),
  };
}

/** A row as one JSON document, for transports without headers of their own for CloudEvents. */
export async function structuredCloudEvent(
  row: OutboxRow,
  source: string,
  format: MessageFormat,
): Promise<Required<EncodedMessage>> {
  const { body, contentType, headers } = await encodeRow(row, format);
  const attributes = JSON.stringify({ ...cloudEventAttributes(row, source), datacontenttype: contentType });
  const document = `${attributes.slice(0, -1)},${dataMember(row, body, contentType)}}`;
  return { body: document, contentType: 'application/cloudevents+json', headers };
}

/** JSON is put in as it is: parsing it would change large numbers. */
function dataMember(row: OutboxRow, body: string | Uint8Array, contentType: string): string {
  if (typeof body !== 'string') return `"data_base64":"${Buffer.from(body).toString('base64')}"`;
  if (!isJson(contentType)) return `"data":${JSON.stringify(body)}`;
  try {
    JSON.parse(body);
  } catch (cause) {
    throw new PermanentError(`row ${row.id} can't be encoded: its body is not the JSON it is said to be`, {
      cause,
    });
  }
  return `"data":${body}`;
}

/** Such as `application/json; charset=utf-8` and `application/vnd.order+json`. */
function isJson(contentType: string): boolean {
  const [type = ''] = contentType.toLowerCase().split(';', 1);
  return ['/json', '+json'].some((suffix) => type.trim().endsWith(suffix));
}

function layered(...layers: ReadonlyArray<Readonly<Record<string, string>>>): Record<string, string> {
  const headers = new Map<string, string>();
  for (const layer of layers) {
    const names = new Set(Object.keys(layer).map((name) => name.toLowerCase()));
    for (const name of headers.keys()) if (names.has(name.toLowerCase())) headers.delete(name);
    for (const [name, value] of Object.entries(layer)) headers.set(name, value);
  }
  return Object.fromEntries(headers);
}

async function encodeOrRefuse(
  row: OutboxRow,
  encode: NonNullable<MessageFormat['encode']>,
): Promise<EncodedMessage> {
  try {
    const encoded = await encode(row);
    if (!isEncoded(encoded)) throw new TypeError('encode must return { body, contentType, headers? }');
    return encoded;
  } catch (error) {
    if (isClassified(error)) throw error;
    throw new PermanentError(`row ${row.id} can't be encoded`, { cause: error });
  }
}

function isEncoded(encoded: unknown): encoded is EncodedMessage {
  if (typeof encoded !== 'object' || encoded === null) return false;
  const { body, contentType, headers = {} } = encoded as Partial<EncodedMessage>;
  const isBody = typeof body === 'string' || body instanceof Uint8Array;
  const areHeaders = Object.values(headers).every((value) => typeof value === 'string');
  return isBody && typeof contentType === 'string' && areHeaders;
}

/** The error says itself whether a retry helps. */
function isClassified(error: unknown): boolean {
  return absenceOf(error) !== undefined || (error instanceof Error && 'permanent' in error);
}

function asJson(row: OutboxRow): EncodedMessage {
  return { body: JSON.stringify(row.payload), contentType: 'application/json' };
}

function fieldHeaders(row: OutboxRow): Record<string, string> {
  return {
    [MESSAGE_HEADERS.id]: row.id,
    [MESSAGE_HEADERS.topic]: row.topic,
    ...(row.key !== undefined && { [MESSAGE_HEADERS.key]: row.key }),
    [MESSAGE_HEADERS.createdAt]: row.createdAt.toISOString(),
  };
}

function tracing({ headers }: OutboxRow): Record<string, string> {
  const { traceparent, tracestate } = headers;
  return {
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
  };
}
