import { judgeDuplicates } from './check-duplicates.js';
import { ordersOutOfOrder } from './check-order.js';
import type { History, OutboxRecord } from './history.js';
import type { PublishRecord } from './ledger.js';
import { storyOf } from './story.js';

/** What a scenario may bring about; everything else is a broken promise. */
export interface Rules {
  /** `none`: no row twice, whatever the fault was. Default: what I6 allows. */
  readonly duplicates?: 'none' | 'as promised';
  /** Reasons for which rows may be dead. Default: none is to die. */
  readonly deadReasons?: readonly string[];
  /** No row may be tried more often. Default: any number of times. */
  readonly maxAttempts?: number;
  /** A sweep ran: a row that was published may be gone. */
  readonly isSwept?: boolean;
  /** Rows that somebody destroyed by hand: nothing is expected of them. */
  readonly ruined?: ReadonlySet<string>;
}

export interface Verdict {
  readonly messages: number;
  readonly lost: number;
  readonly phantom: number;
  readonly outOfOrder: number;
  readonly duplicates: number;
  /** One sentence for each promise that did not hold, with its number. */
  readonly broken: readonly string[];
}

/** Reads a history against the promises I1, I2, I5, I6 and I8. */
export function check(history: History, rules: Rules = {}): Verdict {
  const published = history.publishes.filter(isDelivered);
  const lost = lostOrders(history, published, rules);
  const phantom = phantoms(history, published, rules);
  const outOfOrder = ordersOutOfOrder(history, published);
  const { duplicates, unexcused } = judgeDuplicates(history, published, rules.duplicates === 'none');
  const told = (what: string, names: readonly string[]): string[] => tell(history, what, names);
  return {
    messages: history.orders.size,
    lost: lost.length,
    phantom: phantom.length,
    outOfOrder: outOfOrder.length,
    duplicates,
    broken: [
      ...told('I2: committed, neither published nor dead', lost),
      ...told('I1: published or stored without a commit', phantom),
      ...told('I1: more than one row of a commit', doubledRows(history)),
      ...told('I5: published before what was committed before it began', outOfOrder),
      ...told('I6: published twice without a cause that allows it', unexcused),
      ...told('I8: tried more often than the limit', triedTooOften(history, rules)),
      ...told('I2: dead without a cause', deadForNothing(history, rules)),
      ...told('published with another content', changed(history, published)),
    ],
  };
}

export function isDelivered({ outcome }: PublishRecord): boolean {
  return outcome !== 'failed';
}

function lostOrders(history: History, published: readonly PublishRecord[], rules: Rules): string[] {
  const reached = new Set(published.map(({ orderId }) => orderId));
  const byOrder = new Map(history.rows.map((row) => [row.orderId, row]));
  const acknowledged = history.commits.map(({ orderId }) => orderId);
  return [...new Set([...history.orders, ...acknowledged])].filter((orderId) => {
    const row = byOrder.get(orderId);
    if (rules.ruined?.has(orderId) || row?.state === 'dead') return false;
    // Dispatched in the table is worth nothing unless the outside world has it; and a row that vanished is lost.
    const isKept = row?.state === 'dispatched' || (row === undefined && rules.isSwept === true);
    return !reached.has(orderId) || !isKept;
  });
}

function phantoms(history: History, published: readonly PublishRecord[], rules: Rules): string[] {
  const named = [...published, ...history.rows].flatMap(({ orderId }) => (orderId === null ? [] : [orderId]));
  return [...new Set(named)].filter((orderId) => !history.orders.has(orderId) && !rules.ruined?.has(orderId));
}

function doubledRows({ rows }: History): string[] {
  const seen = new Set<string>();
  return rows.flatMap(({ orderId }) => {
    if (orderId === null) return [];
    if (seen.has(orderId)) return [orderId];
    seen.add(orderId);
    return [];
  });
}

function triedTooOften({ publishes, operations }: History, { maxAttempts }: Rules): string[] {
  if (maxAttempts === undefined) return [];
  const requeued = new Set(operations.map(({ rowId }) => rowId));
  const answered = new Map<string, number>();
  for (const { rowId, outcome } of publishes) {
    if (outcome !== 'delivered') answered.set(rowId, (answered.get(rowId) ?? 0) + 1);
  }
  return [...answered]
    .filter(([rowId, tries]) => tries > maxAttempts && !requeued.has(rowId))
    .map(([rowId]) => rowId);
}

function deadForNothing({ rows }: History, { deadReasons = [] }: Rules): string[] {
  const isForNothing = ({ state, reason }: OutboxRecord): boolean =>
    state === 'dead' && !deadReasons.includes(reason ?? 'no reason');
  return rows.filter(isForNothing).map(({ id }) => id);
}

function changed({ intents }: History, published: readonly PublishRecord[]): string[] {
  const meant = new Map(intents.map(({ orderId, fingerprint }) => [orderId, fingerprint]));
  return published
    .filter(({ orderId, fingerprint }) => meant.has(orderId) && meant.get(orderId) !== fingerprint)
    .map(({ orderId }) => orderId);
}

/** A few names are enough to look further. */
const NAMED = 3;

function tell(history: History, what: string, names: readonly string[]): string[] {
  const [first] = names;
  if (first === undefined) return [];
  const few = names.slice(0, NAMED).join(', ');
  const more = names.length > NAMED ? ', …' : '';
  return [`${what}: ${names.length} (${few}${more})\n${storyOf(history, first)}`];
}
