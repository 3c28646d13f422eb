import { type MessageFormat, type OutboxRow, PermanentError } from '@postcommit/core';
import { encodeRow, structuredCloudEvent } from '@postcommit/core/internal';
import type { MessageProperties } from './rabbitmq-client.js';

/** A row as it is sent. */
export interface Message {
  readonly id: string;
  readonly routingKey: string;
  readonly body: Buffer;
  readonly properties: MessageProperties;
}

/** AMQP's short strings have a length of one byte. */
const MAX_SHORT_BYTES = 255;
/**
 * RabbitMQ takes the first two as lists of further routing keys, and closes the channel where they are texts. A consumer
 * that uses amqplib would not see the last one.
 */
const RESERVED_HEADERS = ['CC', 'BCC', '__proto__'];

/** How rows become messages. */
export interface MessageOptions extends MessageFormat {
  readonly routingKey: (row: OutboxRow) => string;
}

/** @throws PermanentError for a row that RabbitMQ can't take. */
export async function messageOf(row: OutboxRow, options: MessageOptions): Promise<Message> {
  const routingKey = routingKeyOf(row, options);
  const { body, contentType, headers } = await encode(row, options);
  for (const name of RESERVED_HEADERS) {
    if (Object.hasOwn(headers, name))
      throw new PermanentError(`row ${row.id}: a message can't have the header ${name}`);
  }
  return {
    id: row.id,
    routingKey,
    body: bytesOf(body),
    properties: {
      persistent: true,
      mandatory: true,
      messageId: row.id,
      ...(isShort(row.topic) && { type: row.topic }),
      timestamp: Math.floor(row.createdAt.getTime() / 1_000),
      contentType,
      headers,
    },
  };
}

async function encode(row: OutboxRow, options: MessageOptions): ReturnType<typeof encodeRow> {
  const encoded = await encodeRow(row, options);
  if (!options.cloudEvents) return encoded;
  const { source } = options.cloudEvents;
  return { ...encoded, ...(await structuredCloudEvent(row, source, { encode: () => encoded })) };
}

function routingKeyOf(row: OutboxRow, { routingKey }: MessageOptions): string {
  const key = callRouting(row, routingKey);
  if (typeof key !== 'string') throw new PermanentError(`row ${row.id}: routingKey must return a string`);
  if (isShort(key)) return key;
  throw new PermanentError(`row ${row.id}: its routing key is longer than ${MAX_SHORT_BYTES} bytes`);
}

function callRouting(row: OutboxRow, routingKey: (row: OutboxRow) => string): unknown {
  try {
    return routingKey(row);
  } catch (error) {
    throw new PermanentError(`row ${row.id}: routingKey failed`, { cause: error });
  }
}

/** A UTF-16 code unit is at most three bytes of UTF-8, so most texts need no exact count. */
function isShort(text: string): boolean {
  return text.length * 3 <= MAX_SHORT_BYTES || Buffer.byteLength(text) <= MAX_SHORT_BYTES;
}

function bytesOf(body: string | Uint8Array): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
