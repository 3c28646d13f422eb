import { PermanentError } from '../message/errors.js';
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

/** The body and content type of a row, and headers that are its own, those of `encode`, and the fields of the row. */
export async function encodeRow(
  row: OutboxRow,
  { encode = asJson }: MessageFormat,
): Promise<Required<EncodedMessage>> {
  const encoded = await encodeOrRefuse(row, encode);
  return {
    body: encoded.body,
    contentType: encoded.contentType,
    headers: { ...row.headers, ...encoded.headers, ...fieldHeaders(row) },
  };
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
): Promise<EncodedMessage> {
  const { body, contentType } = await encodeRow(row, format);
  const attributes = { ...cloudEventAttributes(row, source), datacontenttype: contentType };
  const data =
    typeof body === 'string' && contentType === 'application/json'
      ? { data: JSON.parse(body) as unknown }
      : { data_base64: Buffer.from(body).toString('base64') };
  return { body: JSON.stringify({ ...attributes, ...data }), contentType: 'application/cloudevents+json' };
}

async function encodeOrRefuse(
  row: OutboxRow,
  encode: NonNullable<MessageFormat['encode']>,
): Promise<EncodedMessage> {
  try {
    return await encode(row);
  } catch (error) {
    if (isClassified(error)) throw error;
    throw new PermanentError(`row ${row.id} can't be encoded`, { cause: error });
  }
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
