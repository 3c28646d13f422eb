import type { DeadReason } from './dead-reason.js';
import type { RetryOptions } from './retry-options.js';

/**
 * The topics of an application and their payloads, by declaration merging. While nobody declares one,
 * any topic is allowed and payloads are `unknown`. Declare what JSON gives back: a `Date` arrives as a string.
 *
 * @example
 * declare module '@postcommit/core' {
 *   interface OutboxTopics { 'order.paid': { id: string } }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it by declaration merging.
export interface OutboxTopics {}

/** A declared topic; any string while none is declared. */
export type OutboxTopic = [keyof OutboxTopics] extends [never] ? string : keyof OutboxTopics & string;

/** What the payload of a topic is; `unknown` while none is declared. */
export type PayloadOf<Topic extends string> = Topic extends keyof OutboxTopics
  ? OutboxTopics[Topic]
  : unknown;

/** One member for each declared topic, so that `topic` discriminates `payload`. */
type ByTopic<Topic extends string, Rest> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & Rest
  : never;

export interface EntryOptions {
  /** 1 to 36 printable ASCII characters. Default: a UUIDv7. It is the idempotency key: stable over retries. */
  readonly id?: string | undefined;
  /** Rows with the same key are published one after another, in the order they were enqueued. */
  readonly key?: string | undefined;
  readonly headers?: OutboxHeaders | undefined;
  /** Not published before this time. Default: at once, by the database's clock. */
  readonly availableAt?: Date | undefined;
  readonly retry?: RetryOptions | undefined;
}

export type OutboxHeaders = Readonly<Record<string, string>>;

/** A message before it is stored. */
export type OutboxEntry<Topic extends OutboxTopic = OutboxTopic> = ByTopic<Topic, EntryOptions>;

export type OutboxState = 'pending' | 'dispatched' | 'dead';

interface RowFields {
  readonly id: string;
  readonly key?: string;
  readonly headers: OutboxHeaders;
  readonly createdAt: Date;
  readonly availableAt: Date;
  readonly dispatchedAt?: Date;
  readonly deadAt?: Date;
  readonly deadReason?: DeadReason;
  /** Publishes that failed. */
  readonly attempts: number;
  /** How often a claim on this row expired and was taken anew since the last settled publish. */
  readonly retakes: number;
  readonly lastError?: string;
  readonly claimToken?: string;
  readonly retry: RetryOptions;
  /** Says what is wrong with a stored row that can't be read; such a row is never published. */
  readonly undecodable?: string;
}

/** A stored message. */
export type OutboxRow<Topic extends OutboxTopic = OutboxTopic> = ByTopic<Topic, RowFields>;

export interface OutboxCounts {
  readonly pending: number;
  readonly dispatched: number;
  readonly dead: number;
  readonly total: number;
}

/** What waits to be published. */
export interface OutboxBacklog {
  /** Pending rows, due or not; counted up to the limit that was asked for. */
  readonly pending: number;
  /** Those of them that are due, likewise: what a dispatcher has still to do. */
  readonly due: number;
  /** How long the row that waits longest has been due, in whole milliseconds by the database's clock; 0 when none is due. */
  readonly oldestPendingAgeMs: number;
}

/** Which rows to look at; what is left out does not restrict. */
export interface RowFilter {
  readonly id?: string;
  readonly state?: OutboxState;
  readonly topic?: string;
  readonly key?: string;
  /** Part of `lastError`, compared exactly. */
  readonly error?: string;
  readonly reason?: DeadReason;
  /** Leaves out rows that were cancelled. */
  readonly exceptCancelled?: boolean;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly deadAfter?: Date;
  readonly deadBefore?: Date;
}

/** A row is in exactly one state. */
export function stateOf(row: Pick<OutboxRow, 'dispatchedAt' | 'deadAt'>): OutboxState {
  if (row.deadAt) return 'dead';
  return row.dispatchedAt ? 'dispatched' : 'pending';
}
