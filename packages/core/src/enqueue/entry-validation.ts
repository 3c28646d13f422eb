import type { BackoffStrategies } from '../message/backoff-strategies.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import type { OutboxEntry, OutboxHeaders } from '../message/outbox-row.js';
import { assertRetryOptions } from '../message/retry-policy.js';
import { unknownOption } from '../message/unknown-option.js';
import type { NewRow } from './new-row.js';
import { payloadProblem, stringProblem } from './payload-problem.js';

export interface EntryLimits {
  readonly maxPayloadBytes: number;
  /** If undefined, the names of strategies are not checked. */
  readonly backoffStrategies?: BackoffStrategies | undefined;
}

const ENTRY_NAMES: OptionNames<OutboxEntry> = {
  topic: true,
  payload: true,
  id: true,
  key: true,
  headers: true,
  availableAt: true,
  retry: true,
};
const IS_ENTRY_NAME: ReadonlySet<string> = new Set(Object.keys(ENTRY_NAMES));

/** The length of the columns `topic` and `key`. */
const MAX_NAME_LENGTH = 255;
const MAX_HEADERS_BYTES = 65_536;
const ID_PATTERN = /^[\x21-\x7e]{1,36}$/;
// Headers end up in HTTP and broker headers, where a line break would start another one.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const CONTROL_CHARACTER = /[\x00-\x1f\x7f-\x9f]/;

/** Values nested deeper are left to `payloadProblem`. */
const PLAIN_DEPTH = 50;

/** The range that every database accepts: MySQL's DATETIME covers the years 1000 to 9999. */
const FIRST_TIME_MS = Date.UTC(1_000, 0);
const LAST_TIME_MS = Date.UTC(10_000, 0) - 1;

/** Refuses values that are not entries at all, before interceptors see them. */
export function assertEntry(entry: unknown, index: number): asserts entry is OutboxEntry {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw invalid(
      index,
      `must be an object with topic and payload, got ${entry === null ? 'null' : typeof entry}`,
    );
  }
}

/** Validates everything that can be validated without a database, and serializes the payload. */
export function toNewRow(
  entry: OutboxEntry,
  index: number,
  limits: EntryLimits,
  generateId: () => string,
): NewRow {
  assertKnownNames(entry, index);
  assertName(entry.topic, 'topic', index);
  if (entry.key !== undefined) assertName(entry.key, 'key', index);
  if (entry.id !== undefined) assertId(entry.id, index);
  if (entry.headers !== undefined) assertHeaders(entry.headers, index);
  if (entry.availableAt !== undefined) assertDate(entry.availableAt, index);
  if (entry.retry !== undefined) assertRetryOptions(entry.retry, `entry ${index}`, limits.backoffStrategies);
  return {
    id: entry.id ?? generateId(),
    topic: entry.topic,
    payload: payloadText(entry.payload, index, limits),
    ...(entry.key !== undefined && { key: entry.key }),
    ...(entry.headers !== undefined && { headers: entry.headers }),
    ...(entry.availableAt !== undefined && { availableAt: entry.availableAt }),
    ...(entry.retry?.maxAttempts !== undefined && { maxAttempts: entry.retry.maxAttempts }),
    ...(entry.retry?.backoff !== undefined && { backoff: entry.retry.backoff }),
  };
}

/** Runs for every entry, so it looks names up in a Set and calls the slower `unknownOption` only for the error text. */
function assertKnownNames(entry: OutboxEntry, index: number): void {
  for (const name in entry) {
    if (IS_ENTRY_NAME.has(name)) continue;
    const problem = unknownOption(entry, ENTRY_NAMES);
    if (problem) throw invalid(index, problem);
  }
}

function payloadText(payload: unknown, index: number, { maxPayloadBytes }: EntryLimits): string {
  const text = serialize(payload, index);
  // A UTF-16 code unit is at most three bytes of UTF-8, so most payloads need no exact count.
  const bytes = text.length * 3 > maxPayloadBytes ? Buffer.byteLength(text) : 0;
  if (bytes > maxPayloadBytes) {
    throw new OutboxError(
      'PAYLOAD_TOO_LARGE',
      `entry ${index}: payload has ${bytes} bytes of JSON, maxPayloadBytes is ${maxPayloadBytes}; store the data elsewhere and enqueue a reference to it`,
    );
  }
  return text;
}

function serialize(payload: unknown, index: number): string {
  let problem: string | undefined;
  try {
    problem = isPlainData(payload) ? undefined : payloadProblem(payload);
    if (!problem) return JSON.stringify(payload);
  } catch (error) {
    throw new OutboxError('INVALID_ENTRY', `entry ${index}: payload could not be serialized to JSON`, {
      cause: error,
    });
  }
  throw invalid(index, problem);
}

/**
 * Whether JSON and every database store the value as it is. Nearly all payloads are plain data. If this returns false,
 * `payloadProblem` decides, and finds the path for the error text.
 */
export function isPlainData(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
      return isPlainText(value);
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      if (value === null) return true;
      if (depth >= PLAIN_DEPTH) return false;
      return Array.isArray(value) ? isPlainList(value, depth) : isPlainObject(value, depth);
    default:
      return false;
  }
}

function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

function isPlainList(items: readonly unknown[], depth: number): boolean {
  // Not `every`, which skips the holes of sparse arrays: JSON would fill them with null.
  for (const item of items) if (!isPlainData(item, depth + 1)) return false;
  return true;
}

function isPlainObject(value: object, depth: number): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false;
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (member !== undefined && !isPlainData(member, depth + 1)) return false;
    if (!isPlainText(name)) return false;
  }
  return true;
}

function assertName(value: unknown, field: string, index: number): void {
  if (typeof value !== 'string') throw invalid(index, `${field} must be a string, got ${typeof value}`);
  if (value.length === 0) throw invalid(index, `${field} is empty`);
  if (value.length > MAX_NAME_LENGTH) {
    throw invalid(index, `${field} has ${value.length} characters, ${MAX_NAME_LENGTH} are allowed`);
  }
  if (!isPlainText(value)) throw invalid(index, stringProblem(value, field) ?? `${field} is not valid text`);
}

function assertId(id: unknown, index: number): void {
  if (typeof id === 'string' && ID_PATTERN.test(id)) return;
  const shown = typeof id === 'string' ? JSON.stringify(id) : String(id);
  throw invalid(index, `id must be 1 to 36 printable ASCII characters, got ${shown.slice(0, 80)}`);
}

function assertHeaders(headers: OutboxHeaders, index: number): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw invalid(index, 'headers must be an object of strings');
  }
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string')
      throw invalid(index, `header '${name}' must be a string, got ${typeof value}`);
    if (name === '') throw invalid(index, 'a header has an empty name');
    if (CONTROL_CHARACTER.test(name + value))
      throw invalid(index, `header '${name}' contains a control character`);
    if (!name.isWellFormed() || !value.isWellFormed())
      throw invalid(index, `header '${name}' is not valid Unicode`);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes > MAX_HEADERS_BYTES)
    throw invalid(index, `headers have ${bytes} bytes, ${MAX_HEADERS_BYTES} are allowed`);
}

function assertDate(date: unknown, index: number): void {
  if (!(date instanceof Date) || Number.isNaN(date.getTime()))
    throw invalid(index, `availableAt must be a valid Date, got ${String(date)}`);
  const timeMs = date.getTime();
  if (timeMs >= FIRST_TIME_MS && timeMs <= LAST_TIME_MS) return;
  throw invalid(index, `availableAt must lie between the years 1000 and 9999, got ${date.toISOString()}`);
}

function invalid(index: number, problem: string): OutboxError {
  return new OutboxError('INVALID_ENTRY', `entry ${index}: ${problem}`);
}
