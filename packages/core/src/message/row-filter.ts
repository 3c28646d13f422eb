import type { OutboxState, RowFilter } from './outbox-row.js';

/** Which end of the list comes first. */
export type RowOrder = 'oldest' | 'latest';

/** How `peek` lists rows. */
export interface PeekOptions {
  /**
   * Rows are ordered by the time they were dispatched, died or, while pending, fall due.
   *
   * @default `oldest` for pending rows, else `latest`
   */
  readonly order?: RowOrder;
}

const STATES: readonly OutboxState[] = ['pending', 'dispatched', 'dead'];

/** For stores: the states a row that matches can be in. Only dead rows have a reason and a time of death. */
export function statesOf({ state, reason, deadAfter, deadBefore }: RowFilter): readonly OutboxState[] {
  const isOfDead = reason !== undefined || deadAfter !== undefined || deadBefore !== undefined;
  return STATES.filter((each) => each === (state ?? each) && (!isOfDead || each === 'dead'));
}

/** For stores: the order in which `peek` lists the rows that match. */
export function orderOf({ state }: RowFilter, { order }: PeekOptions = {}): RowOrder {
  return order ?? (state === 'pending' ? 'oldest' : 'latest');
}

/**
 * The rows that `requeueWhere` takes for a filter: dead ones unless it names a state, and no cancelled ones unless it
 * names a reason. `peek` and `count` with the result preview it.
 */
export function requeueFilter(filter: RowFilter): RowFilter & { readonly state: OutboxState } {
  return { exceptCancelled: filter.reason === undefined, ...filter, state: filter.state ?? 'dead' };
}
