import { type OutboxRow, PermanentError, UnavailableError } from '@postcommit/core';
import { absenceOf, cloudEventAttributes, encodeRow, MESSAGE_HEADERS } from '@postcommit/core/internal';
import { headerProblem, headerValue } from './http-headers.js';
import { signatureOf } from './signature.js';
import type { WebhookRequest } from './transport.js';
import {
  keysOf,
  problemOfOwnHeaders,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookSecret,
} from './webhook-options.js';

/** A request, and those of its headers that must not appear in an error. */
export interface WebhookMessage {
  readonly request: WebhookRequest;
  readonly secretHeaders: readonly string[];
}

const FIXED_HEADERS = {
  'user-agent': 'postcommit-webhook',
  // Nobody needs a compressed answer, and reading one safely is more work.
  'accept-encoding': 'identity',
};

/** Builds the request of a row. Everything except the time and its signature is the same at every try. */
export async function messageOf(row: OutboxRow, url: URL, options: WebhookOptions): Promise<WebhookMessage> {
  const encoded = await encodeRow(row, options);
  const body = bytesOf(encoded.body);
  const own = await ownHeaders(row, options.headers);
  const signing = await signingHeaders(row, body, options.secret);
  const headers = {
    ...FIXED_HEADERS,
    ...rowHeaders(row, encoded.headers),
    ...own,
    'content-type': encoded.contentType,
    ...fieldHeaders(row, options),
    'webhook-id': row.id,
    ...signing,
  };
  assertSendable('content-type', encoded.contentType, row);
  const { 'webhook-timestamp': _, ...secret } = { ...own, ...signing };
  return { request: { url, headers, body }, secretHeaders: Object.values(secret) };
}

function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? new TextEncoder().encode(body) : Uint8Array.from(body);
}

/** HTTP compares names without case, so two that differ only in case would become one. */
function rowHeaders(row: OutboxRow, given: WebhookHeaders): WebhookHeaders {
  const headers = new Map<string, string>();
  const fields: readonly string[] = Object.values(MESSAGE_HEADERS);
  for (const [name, value] of Object.entries(given)) {
    if (fields.includes(name)) continue;
    assertSendable(name, value, row);
    const lower = name.toLowerCase();
    if (headers.has(lower)) throw refused(row, `two headers differ only in case: '${lower}'`);
    headers.set(lower, value);
  }
  return Object.fromEntries(headers);
}

function assertSendable(name: string, value: string, row: OutboxRow): void {
  const problem = headerProblem(name, value);
  if (problem !== undefined) throw refused(row, problem);
}

function refused(row: OutboxRow, problem: string): PermanentError {
  return new PermanentError(`row ${row.id}: ${problem}`);
}

/** Keys and topics may be any text. */
function fieldHeaders(row: OutboxRow, { cloudEvents }: WebhookOptions): WebhookHeaders {
  const attributes = cloudEvents ? cloudEventAttributes(row, cloudEvents.source) : {};
  const values = [
    [MESSAGE_HEADERS.id, row.id],
    [MESSAGE_HEADERS.topic, row.topic],
    ...(row.key === undefined ? [] : [[MESSAGE_HEADERS.key, row.key]]),
    [MESSAGE_HEADERS.createdAt, row.createdAt.toISOString()],
    ...Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]),
  ];
  return Object.fromEntries(values.map(([name = '', value = '']) => [name, headerValue(value)]));
}

async function ownHeaders(row: OutboxRow, headers: WebhookOptions['headers'] = {}): Promise<WebhookHeaders> {
  if (typeof headers !== 'function') return lowerCased(headers);
  const given = await credentials('headers', () => headers(row));
  const problem = problemOfOwnHeaders(given);
  if (problem !== undefined)
    throw new UnavailableError(`the function headers returned a wrong value: ${problem}`);
  return lowerCased(given);
}

function lowerCased(headers: WebhookHeaders): WebhookHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

async function signingHeaders(
  row: OutboxRow,
  body: Uint8Array,
  secret: WebhookOptions['secret'],
): Promise<WebhookHeaders> {
  if (secret === false) return {};
  const given: WebhookSecret =
    typeof secret === 'function' ? await credentials('secret', () => secret(row)) : secret;
  const keys = keysOf(given);
  if (typeof keys === 'string')
    throw new UnavailableError(`the function secret returned a wrong value: ${keys}`);
  const timestamp = Math.floor(Date.now() / 1_000);
  return {
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf(keys, { id: row.id, timestamp, body }),
  };
}

/** A vault that can't be reached is not the row's fault, unless the error says so. */
async function credentials<T>(name: string, call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (absenceOf(error) || (error instanceof Error && 'permanent' in error)) throw error;
    throw new UnavailableError(`the function ${name} failed`, { cause: error });
  }
}
