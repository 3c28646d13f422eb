import { type OutboxRow, stateOf } from '@postcommit/core';
import { maskSecrets } from '@postcommit/core/internal';
import { jsonText, printable, quoted, word } from './printable.js';
import { formatTable } from './table.js';

export interface RowFormat {
  /** Payloads and headers may hold personal data, so they are printed on request only. @default false */
  readonly payload?: boolean;
}

/** `abc123 state=dead topic=order.refunded attempts=10 createdAt=… lastError="Stripe webhook 502"` */
export function rowLine(row: OutboxRow, { payload }: RowFormat = {}): string {
  const fields = [
    word(row.id),
    `state=${stateOf(row)}`,
    `topic=${word(row.topic)}`,
    `attempts=${row.attempts}`,
    `createdAt=${timeText(row.createdAt)}`,
  ];
  if (row.lastError !== undefined) fields.push(`lastError=${quoted(maskSecrets(row.lastError))}`);
  if (payload) fields.push(`payload=${jsonText(row.payload)}`);
  return fields.join(' ');
}

export function rowJson(row: OutboxRow, { payload }: RowFormat = {}): Record<string, unknown> {
  // JSON omits undefined fields.
  return {
    id: row.id,
    state: stateOf(row),
    topic: row.topic,
    key: row.key,
    attempts: row.attempts,
    retakes: row.retakes,
    createdAt: timeText(row.createdAt),
    availableAt: timeText(row.availableAt),
    dispatchedAt: row.dispatchedAt && timeText(row.dispatchedAt),
    deadAt: row.deadAt && timeText(row.deadAt),
    deadReason: row.deadReason,
    lastError: row.lastError === undefined ? undefined : maskSecrets(row.lastError),
    undecodable: row.undecodable,
    ...(payload && { headers: row.headers, payload: row.payload ?? null }),
  };
}

export function rowTable(rows: readonly OutboxRow[], columns: number, { payload }: RowFormat = {}): string[] {
  if (rows.length === 0) return ['no rows'];
  const cells = rows.map((row) => [
    row.id,
    stateOf(row),
    row.topic,
    row.key ?? '',
    String(row.attempts),
    timeText(row.createdAt),
    maskSecrets(row.lastError ?? ''),
  ]);
  const [head = '', ...lines] = formatTable(
    ['id', 'state', 'topic', 'key', 'attempts', 'created', 'last error'],
    cells,
    columns,
  );
  // Payloads are on their own lines, because a truncated one is useless.
  const below = (row: OutboxRow | undefined): string[] =>
    payload && row ? [`  ${jsonText(row.payload)}`] : [];
  return [head, ...lines.flatMap((line, index) => [line, ...below(rows[index])])].map(printable);
}

/** Databases can store times outside the range of a Date. */
function timeText(time: Date): string {
  return Number.isNaN(time.getTime()) ? 'unknown' : time.toISOString();
}
