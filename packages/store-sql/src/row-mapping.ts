import type { BackoffOptions, DeadReason, OutboxRow } from '@postcommit/core';
import type { DeadCount } from '@postcommit/core/internal';
import type { DuePlace } from './dialect.js';
import type { SqlRecord } from './sql-statement.js';

/** A record with the columns that `ROW_COLUMNS` or `CLAIMED_COLUMNS` names. */
interface RowRecord {
  readonly id: string;
  readonly topic: string;
  readonly payload: string;
  readonly key: string | null;
  readonly headers: string | null;
  /** Times are in milliseconds, as numbers or text. */
  readonly created_at: number | string;
  /** Null means `created_at`. */
  readonly available_at: number | string | null;
  /** Null means 0. */
  readonly attempts: number | null;
  readonly retakes: number | null;
  readonly last_error: string | null;
  readonly max_attempts: number | null;
  readonly backoff: string | null;
  readonly seq: number | string;
  // Claims omit these.
  readonly dispatched_at?: number | string | null;
  readonly dead_at?: number | string | null;
  readonly dead_reason?: DeadReason | null;
  readonly claim_token?: string | null;
  /** Null on a row that is not pending. */
  readonly claimed_at?: number | string | null;
  readonly claimed_until?: number | string | null;
}

/** A record of `countDead`. */
export function toDeadCount({ topic, reason, dead }: SqlRecord): DeadCount {
  const count = Number(dead);
  return { topic: String(topic), ...(reason != null && { reason: reason as DeadReason }), count };
}

/** A mutable OutboxRow. */
type Draft = { -readonly [Field in keyof OutboxRow]: OutboxRow[Field] };

/**
 * Maps a database record (snake_case, null) to a row (camelCase, absent). Sets `undecodable` if somebody edited the
 * record into something invalid. Uses plain assignments for speed, since it runs for every row.
 */
export function toOutboxRow(record: SqlRecord, claimToken?: string): OutboxRow {
  const from = record as unknown as RowRecord;
  const row: Draft = {
    id: from.id,
    topic: from.topic,
    payload: from.payload === null ? null : JSON.parse(from.payload),
    headers: {},
    createdAt: new Date(Number(from.created_at)),
    availableAt: new Date(dueMs(from)),
    attempts: from.attempts ?? 0,
    retakes: from.retakes ?? 0,
    retry: {},
  };
  if (from.key !== null) row.key = from.key;
  if (from.dispatched_at != null) row.dispatchedAt = new Date(Number(from.dispatched_at));
  if (from.dead_at != null) row.deadAt = new Date(Number(from.dead_at));
  if (from.dead_reason != null) row.deadReason = from.dead_reason;
  if (from.last_error !== null) row.lastError = from.last_error;
  const token = claimToken ?? from.claim_token;
  if (token != null) row.claimToken = token;
  if (from.claimed_at != null) row.claimedAt = new Date(Number(from.claimed_at));
  if (from.claimed_until != null) row.claimedUntil = new Date(Number(from.claimed_until));
  if (from.max_attempts !== null) row.retry = { maxAttempts: from.max_attempts };
  if (from.headers !== null || from.backoff !== null) addJson(row, from);
  return row;
}

function addJson(row: Draft, { headers, backoff }: RowRecord): void {
  const problems: string[] = [];
  const storedHeaders = parse(headers, 'headers', isStringMap, problems);
  const storedBackoff = parse(backoff, 'backoff', isBackoff, problems);
  if (storedHeaders) row.headers = storedHeaders;
  if (storedBackoff) row.retry = { ...row.retry, backoff: storedBackoff };
  if (problems.length > 0) row.undecodable = problems.join('; ');
}

/**
 * Sorts by due time, then by `seq`, since RETURNING has no order. Rows of one key always stay in `seq` order: after a
 * back-off, the first row of a key is due later than those behind it.
 */
export function inPublishOrder(records: readonly SqlRecord[]): readonly SqlRecord[] {
  const rows = records as unknown as readonly RowRecord[];
  // Most batches have no key and are in order already.
  if (rows.every((row, place) => row.key === null && !isBefore(row, rows[place - 1]))) return records;
  const placed = rows
    .map((row) => ({ row, key: row.key, dueMs: dueMs(row), seq: Number(row.seq) }))
    .sort((a, b) => a.dueMs - b.dueMs || a.seq - b.seq);
  const byKey = new Map<string, typeof placed>();
  for (const one of placed) {
    if (one.key === null) continue;
    const others = byKey.get(one.key);
    if (others) others.push(one);
    else byKey.set(one.key, [one]);
  }
  for (const ofKey of byKey.values()) ofKey.sort((a, b) => b.seq - a.seq);
  // Fill each place of a key with the oldest remaining row of that key.
  const ordered = placed.map((one) => (one.key === null ? one : byKey.get(one.key)?.pop())?.row);
  return ordered as unknown as SqlRecord[];
}

/** A row whose claim had expired is claimed alone. */
export function isRetaken(records: readonly SqlRecord[]): boolean {
  return records.length === 1 && Number(records[0]?.retakes) > 0;
}

/** Returns the place of the last of these rows; undefined if its time was edited to something out of range. */
export function lastPlace(records: readonly SqlRecord[]): DuePlace | undefined {
  const rows = records as unknown as readonly RowRecord[];
  const last = rows.reduce((latest, row) => (isBefore(latest, row) ? row : latest));
  const microseconds = Math.round(dueMs(last) * 1000);
  return Number.isSafeInteger(microseconds)
    ? { availableAt: String(microseconds), seq: String(last.seq) }
    : undefined;
}

/** Returns the place this much earlier in due order. */
export function placeBefore({ availableAt }: DuePlace, ms: number): DuePlace {
  return { availableAt: String(Number(availableAt) - ms * 1000), seq: '0' };
}

function isBefore(row: RowRecord, other: RowRecord | undefined): boolean {
  if (!other) return false;
  return (dueMs(row) - dueMs(other) || Number(row.seq) - Number(other.seq)) < 0;
}

function dueMs({ available_at, created_at }: RowRecord): number {
  return Number(available_at ?? created_at);
}

function parse<T>(
  text: string | null,
  column: string,
  isValid: (value: unknown) => value is T,
  problems: string[],
): T | undefined {
  if (text === null) return undefined;
  const value: unknown = JSON.parse(text);
  if (isValid(value)) return value;
  problems.push(`column ${column} is not what was stored there: ${text.slice(0, 100)}`);
  return undefined;
}

function isStringMap(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((member) => typeof member === 'string');
}

/** Accepts built-in policies with numbers, or a strategy name alone; the dispatcher checks that the strategy exists. */
function isBackoff(value: unknown): value is BackoffOptions {
  if (!isObject(value) || typeof value.type !== 'string') return false;
  if (value.type === 'fixed' || value.type === 'exponential') return typeof value.delayMs === 'number';
  return value.delayMs === undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
