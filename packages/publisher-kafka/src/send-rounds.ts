import { type OutboxRow, PermanentError, type PublishResult, TransientError } from '@postcommit/core';
import type { Place, PlacedRow } from './placed-row.js';

/** What became of the rows that a request had for one partition. A record batch is stored as a whole or not at all. */
export type PlaceOutcome =
  | { readonly kind: 'stored' }
  /** At least one of the rows can't be stored, or they are too large together. */
  | { readonly kind: 'refused'; readonly reason: unknown }
  /** The partition takes nothing now. */
  | { readonly kind: 'failed'; readonly reason: unknown };

export type Outcomes = ReadonlyMap<Place, PlaceOutcome>;

/** Brokers refuse requests of more than 100 MiB by default. */
const MAX_ROUND_BYTES = 32 * 1024 * 1024;
const STORED: PublishResult = { status: 'fulfilled' };

/** A row whose result is missing in the answer was not delivered. */
const UNANSWERED = {
  kind: 'failed',
  reason: new TransientError('the answer of the brokers leaves this row out'),
} as const;

/** What a round has for one partition so far. */
interface Batch {
  rows: number;
  bytes: number;
  isFull: boolean;
}

/**
 * Decides which rows go out together. A round is one request: for each partition, the rows that fit into a batch. The
 * next one goes out when every partition has answered, so rows of a key never overtake each other. A batch that a broker
 * refuses is halved until the row that it can't store is alone.
 */
export class SendRounds {
  readonly #rows: readonly OutboxRow[];
  readonly #maxBytes: number;
  readonly #results: (PublishResult | undefined)[];
  /** The first row of each key that failed: those behind it wait for it. */
  readonly #failedKeys = new Map<string, { readonly index: number; readonly result: PublishResult }>();
  readonly #failedPlaces = new Map<Place, PublishResult>();
  /** The most rows of a batch, while the one that can't be stored is looked for. */
  readonly #maxRows = new Map<Place, number>();
  #waiting: readonly PlacedRow[] = [];

  constructor(rows: readonly OutboxRow[], maxBytes: number) {
    this.#rows = rows;
    this.#maxBytes = maxBytes;
    this.#results = rows.map(() => undefined);
  }

  /** The rows to be sent, in their order. Those that are not in it must have been rejected. */
  begin(rows: readonly PlacedRow[]): void {
    this.#waiting = rows;
    this.#dropFailed();
  }

  /** This row is not sent. Neither are those behind it of its key. */
  reject(index: number, reason: unknown): void {
    this.#settle(index, { status: 'rejected', reason });
  }

  /** Nothing more is sent. */
  rejectRest(reason: unknown): void {
    for (const [index, result] of this.#results.entries()) if (!result) this.reject(index, reason);
    this.#waiting = [];
  }

  /** The rows of the next request; empty at the end. */
  next(): readonly PlacedRow[] {
    const round: PlacedRow[] = [];
    const batches = new Map<Place, Batch>();
    /** Where the rows of a key go in this round; undefined if a row of it has to wait for the next. */
    const keys = new Map<string, Place | undefined>();
    let bytes = 0;
    for (const row of this.#waiting) {
      const { key } = row.row;
      const isElsewhere = key !== undefined && keys.has(key) && keys.get(key) !== row.place;
      const isIn = !isElsewhere && this.#takes(batches, row);
      if (key !== undefined) keys.set(key, isIn ? row.place : undefined);
      if (!isIn) continue;
      bytes += row.bytes;
      if (bytes > MAX_ROUND_BYTES && round.length > 0) break;
      round.push(row);
    }
    return round;
  }

  /** Says what became of the last round. A partition without an outcome has failed. */
  settle(round: readonly PlacedRow[], outcomes: Outcomes): void {
    const batches = new Map<Place, PlacedRow[]>();
    for (const row of round) {
      const batch = batches.get(row.place);
      if (batch) batch.push(row);
      else batches.set(row.place, [row]);
    }
    for (const [place, batch] of batches) this.#settleBatch(place, batch, outcomes.get(place) ?? UNANSWERED);
    this.#dropFailed();
  }

  /** One result for each row, in order. */
  get results(): PublishResult[] {
    return this.#results.map((result) => result ?? { status: 'rejected', reason: UNANSWERED.reason });
  }

  /** Adds the row to the batch of its partition, if it fits. A row that is too large for any batch goes alone. */
  #takes(batches: Map<Place, Batch>, { place, bytes }: PlacedRow): boolean {
    const batch = batches.get(place) ?? { rows: 0, bytes: 0, isFull: false };
    batches.set(place, batch);
    const maxRows = this.#maxRows.get(place) ?? Number.POSITIVE_INFINITY;
    // Once a row did not fit, smaller ones must not go before it.
    batch.isFull ||= batch.rows >= maxRows || (batch.rows > 0 && batch.bytes + bytes > this.#maxBytes);
    if (batch.isFull) return false;
    batch.rows += 1;
    batch.bytes += bytes;
    return true;
  }

  #settleBatch(place: Place, batch: readonly PlacedRow[], outcome: PlaceOutcome): void {
    if (outcome.kind === 'failed') {
      this.#failedPlaces.set(place, { status: 'rejected', reason: outcome.reason });
    } else if (outcome.kind === 'stored') {
      for (const { index } of batch) this.#settle(index, STORED);
      // The rest may be large as well, so it grows as it shrank.
      const maxRows = this.#maxRows.get(place);
      if (maxRows !== undefined) this.#maxRows.set(place, maxRows * 2);
    } else if (batch.length > 1) {
      this.#maxRows.set(place, Math.ceil(batch.length / 2));
    } else {
      for (const { row, index } of batch) this.reject(index, cannotBeStored(row, outcome.reason));
      this.#maxRows.delete(place);
    }
  }

  #settle(index: number, result: PublishResult): void {
    this.#results[index] ??= result;
    const key = this.#rows[index]?.key;
    if (result.status === 'fulfilled' || key === undefined) return;
    const failed = this.#failedKeys.get(key);
    if (!failed || index < failed.index) this.#failedKeys.set(key, { index, result });
  }

  /** In order, because a row that is dropped here may be the first of its key that fails. */
  #dropFailed(): void {
    this.#waiting = this.#waiting.filter(({ row, index, place }) => {
      const failedKey = row.key === undefined ? undefined : this.#failedKeys.get(row.key);
      const before = failedKey && failedKey.index < index ? failedKey.result : undefined;
      const failed = this.#failedPlaces.get(place) ?? before;
      if (failed && !this.#results[index]) this.#settle(index, failed);
      return !this.#results[index];
    });
  }
}

function cannotBeStored({ id, topic }: OutboxRow, cause: unknown): PermanentError {
  return new PermanentError(`row ${id} of topic '${topic}' can't be stored by Kafka`, { cause });
}
