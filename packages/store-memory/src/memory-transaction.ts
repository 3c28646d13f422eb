import { type NewRow, OutboxError } from '@postcommit/core';
import type { MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

/** Collects rows that become visible together at `commit`, or not at all. */
export class MemoryTransaction {
  readonly table: MemoryTable;
  #staged: MemoryRow[] = [];
  #open = true;

  constructor(table: MemoryTable) {
    this.table = table;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  insert(rows: readonly NewRow[]): void {
    this.#assertOpen();
    this.#staged.push(...this.table.stage(rows));
  }

  /** Sets a savepoint. The returned function rolls back to it. */
  savepoint(): () => void {
    this.#assertOpen();
    const kept = this.#staged.length;
    return () => {
      this.#assertOpen();
      this.table.discard(this.#staged.splice(kept));
    };
  }

  commit(): void {
    this.#assertOpen();
    this.#open = false;
    this.table.commit(this.#staged);
  }

  rollback(): void {
    this.#assertOpen();
    this.#open = false;
    this.table.discard(this.#staged);
  }

  #assertOpen(): void {
    if (!this.#open)
      throw new OutboxError('INVALID_TRANSACTION', 'this memory transaction has already ended');
  }
}
