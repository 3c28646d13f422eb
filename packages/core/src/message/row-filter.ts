import { assertKnownOptions, type OptionNames } from './known-options.js';
import type { OutboxState, RowFilter } from './outbox-row.js';

/** Which end of the list comes first. */
export type RowOrder = 'oldest' | 'latest';

export interface PeekOptions {
  /**
   * Rows are ordered by the time they were dispatched or died or, if pending, by the time they fall due.
   *
   * @default `oldest` for pending rows, otherwise `latest`
   */
  readonly order?: RowOrder;
}

const PEEK_NAMES: OptionNames<PeekOptions> = { order: true };

const STATES: readonly OutboxState[] = ['pending', 'dispatched', 'dead'];

/** For stores: returns the states that a matching row can have. Only dead rows have a reason and a time of death. */
export function statesOf({ state, reason, deadAfter, deadBefore }: RowFilter): readonly OutboxState[] {
  const isDeadOnly = reason !== undefined || deadAfter !== undefined || deadBefore !== undefined;
  return STATES.filter((each) => each === (state ?? each) && (!isDeadOnly || each === 'dead'));
}

/** For stores: returns the order in which `peek` lists matching rows. */
export function orderOf({ state }: RowFilter, options: PeekOptions = {}): RowOrder {
  assertKnownOptions('peek', options, PEEK_NAMES, 'INVALID_ARGUMENT');
  const { order } = options;
  return order ?? (state === 'pending' ? 'oldest' : 'latest');
}

/**
 * Returns the filter that `requeueWhere` applies: dead rows unless a state is named, and no cancelled rows unless a
 * reason is named. Pass the result to `peek` or `count` for a preview.
 */
export function requeueFilter(filter: RowFilter): RowFilter & { readonly state: OutboxState } {
  return { exceptCancelled: filter.reason === undefined, ...filter, state: filter.state ?? 'dead' };
}
