import type { BackoffOptions, DeadReason, OutboxRow } from '@postcommit/core';
import type { SqlRecord } from './sql-statement.js';

/** A record with the columns that `rowColumns` names. */
interface RowRecord {
  readonly id: string;
  readonly topic: string;
  readonly payload: string;
  readonly key: string | null;
  readonly headers: string | null;
  readonly created_at: number;
  readonly available_at: number;
  readonly dispatched_at: number | null;
  readonly dead_at: number | null;
  readonly dead_reason: DeadReason | null;
  readonly attempts: number;
  readonly retakes: number;
  readonly last_error: string | null;
  readonly claim_token: string | null;
  readonly max_attempts: number | null;
  readonly backoff: string | null;
  readonly seq: number;
}

/** Database record (snake_case, null) to row (camelCase, absent). A record edited into nonsense gets `undecodable`. */
export function toOutboxRow(record: SqlRecord): OutboxRow {
  const row = record as unknown as RowRecord;
  const problems: string[] = [];
  const headers = parse(row.headers, 'headers', isStringMap, problems) ?? {};
  const backoff = parse(row.backoff, 'backoff', isBackoff, problems);
  return {
    id: row.id,
    topic: row.topic,
    payload: row.payload === null ? null : JSON.parse(row.payload),
    ...(row.key !== null && { key: row.key }),
    headers,
    createdAt: new Date(row.created_at),
    availableAt: new Date(row.available_at),
    ...(row.dispatched_at !== null && { dispatchedAt: new Date(row.dispatched_at) }),
    ...(row.dead_at !== null && { deadAt: new Date(row.dead_at) }),
    ...(row.dead_reason !== null && { deadReason: row.dead_reason }),
    attempts: row.attempts,
    retakes: row.retakes,
    ...(row.last_error !== null && { lastError: row.last_error }),
    ...(row.claim_token !== null && { claimToken: row.claim_token }),
    retry: {
      ...(row.max_attempts !== null && { maxAttempts: row.max_attempts }),
      ...(backoff !== undefined && { backoff }),
    },
    ...(problems.length > 0 && { undecodable: problems.join('; ') }),
  };
}

/**
 * RETURNING has no order. By due time, then by `seq`; but the rows of a key keep the order of their `seq` among
 * themselves: a head that backed off is due later than its followers.
 */
export function inPublishOrder(records: readonly SqlRecord[]): SqlRecord[] {
  const rows = records as unknown as RowRecord[];
  const sorted = [...rows].sort((a, b) => a.available_at - b.available_at || a.seq - b.seq);
  if (rows.every(({ key }) => key === null)) return sorted as unknown as SqlRecord[];
  const byKey = new Map<string, RowRecord[]>();
  for (const row of [...rows].sort((a, b) => b.seq - a.seq)) {
    if (row.key !== null) byKey.set(row.key, [...(byKey.get(row.key) ?? []), row]);
  }
  // Each place that belongs to a key is filled with the oldest row of it that is left.
  return sorted.map((row) => (row.key === null ? row : byKey.get(row.key)?.pop())) as unknown as SqlRecord[];
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

function isBackoff(value: unknown): value is BackoffOptions {
  return (
    isObject(value) &&
    typeof value['delayMs'] === 'number' &&
    ['fixed', 'exponential'].includes(String(value['type']))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
