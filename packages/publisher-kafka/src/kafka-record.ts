import { type MessageFormat, type OutboxRow, PermanentError } from '@postcommit/core';
import { cloudEventAttributes, encodeRow } from '@postcommit/core/internal';
import { isTopicName } from './kafka-publisher-options.js';

/** A row that is ready to be sent. */
export interface PreparedRow {
  readonly row: OutboxRow;
  /** Its place in the batch. */
  readonly index: number;
  readonly topic: string;
  readonly key: Buffer | undefined;
  readonly value: Buffer;
  readonly headers: Map<Buffer, Buffer>;
  /** An upper bound of its size in a batch. */
  readonly bytes: number;
}

/** How rows become records. */
export interface RecordFormat extends MessageFormat {
  readonly topic: (row: OutboxRow) => string;
}

/** Lengths, timestamp and offset of a record take at most this many bytes. */
const RECORD_OVERHEAD_BYTES = 40;
const HEADER_OVERHEAD_BYTES = 10;

/** @throws PermanentError for a row that Kafka can't take or that can't be encoded. */
export async function prepareRow(row: OutboxRow, index: number, format: RecordFormat): Promise<PreparedRow> {
  const topic = topicOf(row, format);
  if (!isTopicName(topic))
    throw new PermanentError(
      `row ${row.id}: ${JSON.stringify(topic)} can't be a Kafka topic: use 1 to 249 of A-Z a-z 0-9 . _ -`,
    );
  const { body, contentType, headers } = await encodeRow(row, format);
  const all = { ...headers, 'content-type': contentType, ...cloudEventHeaders(row, format) };
  const prepared = {
    row,
    index,
    topic,
    key: row.key === undefined ? undefined : Buffer.from(row.key),
    value: Buffer.from(body),
    headers: new Map(Object.entries(all).map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
  };
  return { ...prepared, bytes: bytesOf(prepared) };
}

function topicOf(row: OutboxRow, format: RecordFormat): string {
  try {
    return format.topic(row);
  } catch (error) {
    throw new PermanentError(`row ${row.id}: the option topic has thrown`, { cause: error });
  }
}

/** The binary mode of the Kafka binding: attributes are headers, the body stays as it is. */
function cloudEventHeaders(row: OutboxRow, { cloudEvents }: MessageFormat): Record<string, string> {
  if (!cloudEvents) return {};
  const attributes = Object.entries(cloudEventAttributes(row, cloudEvents.source));
  return Object.fromEntries(attributes.map(([name, value]) => [`ce_${name}`, value]));
}

function bytesOf({ key, value, headers }: Omit<PreparedRow, 'bytes'>): number {
  let bytes = RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + value.length;
  for (const [name, text] of headers) bytes += HEADER_OVERHEAD_BYTES + name.length + text.length;
  return bytes;
}
