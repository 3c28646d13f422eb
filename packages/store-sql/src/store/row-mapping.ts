import type { BackoffOptions, DeadReason, OutboxRow } from '@postcommit/core';
import type { DuePlace } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** A record with the columns that `rowColumns` or `claimedColumns` names. */
interface RowRecord {
  readonly id: string;
  readonly topic: string;
  readonly payload: string;
  readonly key: string | null;
  readonly headers: string | null;
  /** Times are milliseconds, as numbers or as text. */
  readonly created_at: number | string;
  /** Null: when it was created. */
  readonly available_at: number | string | null;
  /** Null: none. */
  readonly attempts: number | null;
  readonly retakes: number | null;
  readonly last_error: string | null;
  readonly max_attempts: number | null;
  readonly backoff: string | null;
  readonly seq: number | string;
  // A claim leaves these out.
  readonly dispatched_at?: number | string | null;
  readonly dead_at?: number | string | null;
  readonly dead_reason?: DeadReason | null;
  readonly claim_token?: string | null;
}

/** An OutboxRow while it is being filled. */
type Draft = { -readonly [Field in keyof OutboxRow]: OutboxRow[Field] };

/**
 * Database record (snake_case, null) to row (camelCase, absent). A record edited into nonsense gets `undecodable`.
 * Written as plain assignments, since it runs for every row.
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
 * RETURNING has no order. By due time, then by `seq`; but the rows of a key keep the order of their `seq` among
 * themselves: a head that backed off is due later than its followers.
 */
export function inPublishOrder(records: readonly SqlRecord[]): readonly SqlRecord[] {
  const rows = records as unknown as readonly RowRecord[];
  // Most batches have no key and come as they were claimed.
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
  // Each place that belongs to a key is filled with the oldest row of it that is left.
  const ordered = placed.map((one) => (one.key === null ? one : byKey.get(one.key)?.pop())?.row);
  return ordered as unknown as SqlRecord[];
}

/** A row whose claim had expired comes alone. */
export function isRetaken(records: readonly SqlRecord[]): boolean {
  return records.length === 1 && Number(records[0]?.retakes) > 0;
}

/** Where the last of these rows stands; unknown if its time was edited to what no number holds. */
export function lastPlace(records: readonly SqlRecord[]): DuePlace | undefined {
  const rows = records as unknown as readonly RowRecord[];
  const last = rows.reduce((latest, row) => (isBefore(latest, row) ? row : latest));
  const microseconds = Math.round(dueMs(last) * 1000);
  return Number.isSafeInteger(microseconds)
    ? { availableAt: String(microseconds), seq: String(last.seq) }
    : undefined;
}

/** So much earlier in the order in which rows fall due. */
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

/** Numbers, or the name of a strategy alone: whether there is one of that name, the dispatcher decides. */
function isBackoff(value: unknown): value is BackoffOptions {
  if (!isObject(value) || typeof value.type !== 'string') return false;
  if (value.type === 'fixed' || value.type === 'exponential') return typeof value.delayMs === 'number';
  return value.delayMs === undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
