import { type NewRow, OutboxError } from '@postcommit/core';
import { nameToken, type WorkerIdentity, type WorkerReport } from '@postcommit/core/internal';
import { type MemoryRow, toMemoryRow } from './memory-row.js';

/** The record of a worker. Times are milliseconds since 1970. */
export interface MemoryWorker extends WorkerIdentity {
  report: WorkerReport;
  readonly startedAt: number;
  lastSeenAt: number;
  beats: number;
  lostAt?: number;
}

/** A table that several memory stores can share, as several processes share one in a database. */
export class MemoryTable {
  static {
    nameToken(this, '@postcommit/store-memory/MemoryTable');
  }

  /** The workers that share the table, by id. */
  readonly workers: Map<string, MemoryWorker> = new Map();
  /** The paused topics, and when each was paused. */
  readonly pauses: Map<string, number> = new Map();
  readonly #now: () => number;
  readonly #rows = new Map<string, MemoryRow>();
  /** Ids inserted by open transactions. As with a unique index, no other transaction may use them. */
  readonly #reserved = new Set<string>();
  #lastSeq = 0;

  constructor(clock: { now(): number } = { now: Date.now }) {
    this.#now = () => clock.now();
  }

  now(): number {
    return this.#now();
  }

  nextSeq(): number {
    this.#lastSeq += 1;
    return this.#lastSeq;
  }

  /** Committed rows. */
  rows(): Iterable<MemoryRow> {
    return this.#rows.values();
  }

  get(id: string): MemoryRow | undefined {
    return this.#rows.get(id);
  }

  delete(id: string): void {
    this.#rows.delete(id);
  }

  /** Creates rows that are invisible until they are committed. Their order is decided here, not at commit. */
  stage(newRows: readonly NewRow[]): MemoryRow[] {
    for (const { id } of newRows) {
      if (this.#rows.has(id) || this.#reserved.has(id)) {
        throw new OutboxError('DUPLICATE_ID', `a row with id '${id}' already exists`);
      }
    }
    for (const { id } of newRows) this.#reserved.add(id);
    return newRows.map((row) => toMemoryRow(row, this.nextSeq(), this.now()));
  }

  commit(staged: readonly MemoryRow[]): void {
    this.discard(staged);
    for (const row of staged) this.#rows.set(row.id, row);
  }

  discard(staged: readonly MemoryRow[]): void {
    for (const { id } of staged) this.#reserved.delete(id);
  }
}
