import type { DeadReason } from './dead-reason.js';
import type { RetryOptions } from './retry-options.js';

/**
 * The topics of an application and their payloads, filled in by declaration merging. While none is declared, any topic
 * is allowed and payloads are `unknown`. Declare payloads as they are after JSON: a `Date` arrives as a string.
 *
 * @example
 * declare module '@postcommit/core' {
 *   interface OutboxTopics { 'order.paid': { id: string } }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in by declaration merging.
export interface OutboxTopics {}

/** A declared topic; any string while none is declared. */
export type OutboxTopic = [keyof OutboxTopics] extends [never] ? string : keyof OutboxTopics & string;

/** The payload type of a topic; `unknown` while none is declared. */
export type PayloadOf<Topic extends string> = Topic extends keyof OutboxTopics
  ? OutboxTopics[Topic]
  : unknown;

/** One member for each declared topic, so that `topic` discriminates `payload`. */
type ByTopic<Topic extends string, Rest> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & Rest
  : never;

export interface EntryOptions {
  /** The idempotency key, the same in every retry: 1 to 36 printable ASCII characters. @default a UUIDv7 */
  readonly id?: string | undefined;
  /** Rows with the same key are published one after another, in the order they were enqueued. */
  readonly key?: string | undefined;
  readonly headers?: OutboxHeaders | undefined;
  /** The row is not published before this time. @default now, by the database's clock */
  readonly availableAt?: Date | undefined;
  /** Stored with the row. @default the dispatcher's configuration */
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
  /** Failed publishes so far. */
  readonly attempts: number;
  /** How often an expired claim on this row was taken over since a publish was last settled. */
  readonly retakes: number;
  readonly lastError?: string;
  readonly claimToken?: string;
  /** When a claimed row was claimed. Only pending rows that `peek` returns have it. */
  readonly claimedAt?: Date;
  /** When the claim ends unless it is extended. Only pending rows that `peek` returns have it. */
  readonly claimedUntil?: Date;
  readonly retry: RetryOptions;
  /** Why a stored row can't be read. Such a row is never published. */
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

/** Rows waiting to be published. */
export interface OutboxBacklog {
  /** Pending rows, due or not, counted up to the requested limit. */
  readonly pending: number;
  /** Pending rows that are due, counted up to the requested limit. */
  readonly due: number;
  /** How long the oldest due row has been waiting, by the database's clock; 0 if none is due. */
  readonly oldestPendingAgeMs: number;
}

/** Selects rows that match every given field. */
export interface RowFilter {
  readonly id?: string;
  readonly state?: OutboxState;
  readonly topic?: string;
  readonly key?: string;
  /** A substring of `lastError`, case-sensitive. */
  readonly error?: string;
  readonly reason?: DeadReason;
  /** Leaves out cancelled rows. */
  readonly exceptCancelled?: boolean;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly deadAfter?: Date;
  readonly deadBefore?: Date;
}

/** Returns the state of a row. It is always in exactly one. */
export function stateOf(row: Pick<OutboxRow, 'dispatchedAt' | 'deadAt'>): OutboxState {
  if (row.deadAt) return 'dead';
  return row.dispatchedAt ? 'dispatched' : 'pending';
}
