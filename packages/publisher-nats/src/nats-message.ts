import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node';
import { type MessageFormat, type OutboxRow, PermanentError } from '@postcommit/core';
import { encodeRow, structuredCloudEvent } from '@postcommit/core/internal';

/** The server ends the connection when a line of the protocol is longer than 4096 bytes. The rest is the inbox. */
const MAX_SUBJECT_BYTES = 2_048;
const CONTENT_TYPE = 'content-type';
/** Headers with this prefix are instructions to the server, such as `Nats-Rollup`, which deletes other messages. */
const INSTRUCTION = 'nats-';

/** What a row is on the wire. */
export interface NatsMessage {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly headers: MsgHdrs;
  /** The size of body and headers, as the server counts it. */
  readonly bytes: number;
}

/** How rows become messages. */
export interface NatsFormat extends MessageFormat {
  readonly stream?: string | undefined;
  readonly subject?: ((row: OutboxRow) => string) | undefined;
}

/** @throws PermanentError if NATS can't take the row. */
export async function toMessage(row: OutboxRow, format: NatsFormat): Promise<NatsMessage> {
  const subject = subjectOf(row, format);
  for (const name of Object.keys(row.headers))
    if (name.toLowerCase().startsWith(INSTRUCTION))
      throw refused(row, `its header ${name} would be an instruction to the server`);
  const encoded = format.cloudEvents
    ? await structuredCloudEvent(row, format.cloudEvents.source, format)
    : await encodeRow(row, format);
  const own = { [CONTENT_TYPE]: encoded.contentType, ...serverHeaders(row, format) };
  const owned = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const others = Object.entries(encoded.headers).filter(([name]) => !owned.has(name.toLowerCase()));
  const headers = newHeaders();
  let bytes = 'NATS/1.0\r\n\r\n'.length;
  for (const [name, value] of [...others, ...Object.entries(own)]) {
    assertHeader(row, name, value);
    headers.append(name, value);
    bytes += Buffer.byteLength(`${name}: ${value}\r\n`);
  }
  const body = typeof encoded.body === 'string' ? Buffer.from(encoded.body) : encoded.body;
  return { subject, body, headers, bytes: bytes + body.byteLength };
}

/** @throws PermanentError if the server would end the connection over it. */
export function assertFits(row: OutboxRow, { bytes }: NatsMessage, maxBytes: number): void {
  if (bytes > maxBytes)
    throw refused(
      row,
      `it has ${bytes} bytes with its headers, and the server takes ${maxBytes} (max_payload)`,
    );
}

function serverHeaders(row: OutboxRow, { stream }: NatsFormat): Record<string, string> {
  return { 'Nats-Msg-Id': row.id, ...(stream !== undefined && { 'Nats-Expected-Stream': stream }) };
}

function subjectOf(row: OutboxRow, { subject = topicOf }: NatsFormat): string {
  let found: unknown;
  try {
    found = subject(row);
  } catch (cause) {
    throw new PermanentError(`row ${row.id}: its subject could not be determined`, { cause });
  }
  const problem = subjectProblem(found);
  if (typeof found !== 'string' || problem !== undefined)
    throw refused(row, `its subject ${JSON.stringify(found)?.slice(0, 100)} ${problem}`);
  return found;
}

function topicOf({ topic }: OutboxRow): string {
  return topic;
}

function subjectProblem(subject: unknown): string | undefined {
  if (typeof subject !== 'string') return 'is not a text';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they and spaces would end the subject on the wire.
  if (/[\x00-\x20\x7f]/.test(subject)) return 'has a space or a control character';
  if (!subject.isWellFormed()) return 'is not well-formed Unicode';
  if (Buffer.byteLength(subject) > MAX_SUBJECT_BYTES) return `is longer than ${MAX_SUBJECT_BYTES} bytes`;
  if (subject.startsWith('$')) return 'begins with $, as those of the server do';
  const tokens = subject.split('.');
  if (tokens.includes('')) return 'has an empty token';
  if (tokens.some((token) => token === '*' || token === '>')) return 'is a wildcard';
  return undefined;
}

function assertHeader(row: OutboxRow, name: string, value: string): void {
  if (name === '' || /[^\x21-\x39\x3b-\x7e]/.test(name))
    throw refused(
      row,
      `the header name ${JSON.stringify(name).slice(0, 100)} has a character that NATS can't send`,
    );
  if (/[\r\n]/.test(value) || !value.isWellFormed())
    throw refused(row, `the value of its header ${name} has a character that NATS can't send`);
  // Clients trim what they receive.
  if (value !== value.trim()) throw refused(row, `the value of its header ${name} has spaces around it`);
}

function refused({ id }: OutboxRow, problem: string): PermanentError {
  return new PermanentError(`row ${id} can't be sent: ${problem}`);
}
