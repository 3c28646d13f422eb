import { type MessageFormat, type OutboxRow, PermanentError } from '@postcommit/core';
import { encodeRow, structuredCloudEvent } from '@postcommit/core/internal';
import type { RedisArgument } from './redis-client-like.js';

/** Ids are unique for a producer. Those of rows are unique everywhere. */
const PRODUCER = 'postcommit';

/** How rows become entries of a stream. */
export interface RedisFormat extends MessageFormat {
  readonly stream?: (row: OutboxRow) => string;
}

/** How entries are added. */
export interface AddOptions {
  readonly streamMustExist: boolean;
  /** The server drops an entry whose id it knows. */
  readonly isIdempotent: boolean;
  readonly maxLength: number | undefined;
}

/** What a row is in Redis. */
export interface RedisMessage {
  readonly id: string;
  readonly stream: string;
  /** Names and values in turn. */
  readonly fields: readonly RedisArgument[];
}

/** @throws PermanentError if Redis can't take the row. */
export async function toMessage(row: OutboxRow, format: RedisFormat): Promise<RedisMessage> {
  const stream = streamOf(row, format);
  assertText(row, 'key', row.key ?? '');
  assertText(row, 'topic', row.topic);
  const { body, contentType, headers } = format.cloudEvents
    ? await structuredCloudEvent(row, format.cloudEvents.source, format)
    : await encodeRow(row, format);
  const fields = {
    id: row.id,
    topic: row.topic,
    ...(row.key !== undefined && { key: row.key }),
    payload: typeof body === 'string' ? body : bufferOf(body),
    headers: JSON.stringify(headers),
    createdAt: row.createdAt.toISOString(),
    contentType,
  };
  return { id: row.id, stream, fields: Object.entries(fields).flat() };
}

/** The command that adds a message to its stream. */
export function addCommand({ id, stream, fields }: RedisMessage, options: AddOptions): RedisArgument[] {
  const { streamMustExist, isIdempotent, maxLength } = options;
  return [
    'XADD',
    stream,
    ...(streamMustExist ? ['NOMKSTREAM'] : []),
    ...(isIdempotent ? ['IDMP', PRODUCER, id] : []),
    ...(maxLength === undefined ? [] : ['MAXLEN', '~', String(maxLength)]),
    '*',
    ...fields,
  ];
}

function streamOf(row: OutboxRow, { stream = topicOf }: RedisFormat): string {
  let found: unknown;
  try {
    found = stream(row);
  } catch (cause) {
    throw new PermanentError(`row ${row.id}: its stream could not be determined`, { cause });
  }
  if (typeof found !== 'string' || found === '') throw refused(row, 'its stream must be a name');
  assertText(row, 'stream', found);
  return found;
}

function topicOf({ topic }: OutboxRow): string {
  return topic;
}

/** Text that is not well-formed would arrive as another one. */
function assertText(row: OutboxRow, what: string, text: string): void {
  if (!text.isWellFormed()) throw refused(row, `its ${what} is not well-formed Unicode`);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function refused({ id }: OutboxRow, problem: string): PermanentError {
  return new PermanentError(`row ${id} can't be sent: ${problem}`);
}
