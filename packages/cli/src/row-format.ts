import { type OutboxRow, stateOf } from '@postcommit/core';
import { maskSecrets } from '@postcommit/core/internal';
import { jsonText, printable, quoted, word } from './printable.js';
import { type ClaimOwner, claimOf, type RowClaim } from './row-claim.js';
import { formatTable } from './table.js';

export interface RowFormat {
  /** Payloads and headers may hold personal data, so they are printed on request only. @default false */
  readonly payload?: boolean;
  /** The workers that may hold the rows. @default none is known */
  readonly owners?: readonly ClaimOwner[];
}

/** `abc123 state=dead topic=order.refunded attempts=10 createdAt=… lastError="Stripe webhook 502"` */
export function rowLine(row: OutboxRow, { payload, owners = [] }: RowFormat = {}): string {
  const fields = [
    word(row.id),
    `state=${stateOf(row)}`,
    `topic=${word(row.topic)}`,
    `attempts=${row.attempts}`,
    `createdAt=${timeText(row.createdAt)}`,
  ];
  const claim = claimOf(row, owners);
  if (claim) fields.push(...claimFields(claim));
  if (row.lastError !== undefined) fields.push(`lastError=${quoted(maskSecrets(row.lastError))}`);
  if (payload) fields.push(`payload=${jsonText(row.payload)}`);
  return fields.join(' ');
}

export function rowJson(row: OutboxRow, { payload, owners = [] }: RowFormat = {}): Record<string, unknown> {
  const claim = claimOf(row, owners);
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
    claim: claim && claimJson(claim),
    ...(payload && { headers: row.headers, payload: row.payload ?? null }),
  };
}

export function rowTable(
  rows: readonly OutboxRow[],
  columns: number,
  { payload, owners = [] }: RowFormat = {},
): string[] {
  if (rows.length === 0) return ['no rows'];
  const cells = rows.map((row) => [
    row.id,
    stateOf(row),
    row.topic,
    row.key ?? '',
    String(row.attempts),
    timeText(row.createdAt),
    ...claimCells(claimOf(row, owners)),
    maskSecrets(row.lastError ?? ''),
  ]);
  const [head = '', ...lines] = formatTable(
    ['id', 'state', 'topic', 'key', 'attempts', 'created', 'claimed by', 'until', 'last error'],
    cells,
    columns,
  );
  // Payloads are on their own lines, because a truncated one is useless.
  const below = (row: OutboxRow | undefined): string[] =>
    payload && row ? [`  ${jsonText(row.payload)}`] : [];
  return [head, ...lines.flatMap((line, index) => [line, ...below(rows[index])])].map(printable);
}

function claimFields({ owner, host, pid, claimedAt, claimedUntil }: RowClaim): string[] {
  return [
    `claimedBy=${word(owner)}`,
    ...(host === undefined ? [] : [`host=${word(host)}`, `pid=${pid}`]),
    ...(claimedAt ? [`claimedAt=${timeText(claimedAt)}`] : []),
    ...(claimedUntil ? [`claimedUntil=${timeText(claimedUntil)}`] : []),
  ];
}

function claimJson({ claimedAt, claimedUntil, ...owner }: RowClaim): Record<string, unknown> {
  return {
    ...owner,
    claimedAt: claimedAt && timeText(claimedAt),
    claimedUntil: claimedUntil && timeText(claimedUntil),
  };
}

function claimCells(claim: RowClaim | undefined): string[] {
  if (!claim) return ['', ''];
  const { owner, host, pid, claimedUntil } = claim;
  return [host === undefined ? owner : `${host}:${pid}`, claimedUntil ? timeText(claimedUntil) : ''];
}

/** Databases can store times outside the range of a Date. */
function timeText(time: Date): string {
  return Number.isNaN(time.getTime()) ? 'unknown' : time.toISOString();
}
