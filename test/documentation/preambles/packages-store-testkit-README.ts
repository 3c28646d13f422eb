import type { OutboxPauses, OutboxStoreOptions } from '@postcommit/core';
import type { OutboxWorkers } from '@postcommit/core/internal';
import { MemoryOutboxStore, type MemoryTransaction } from '@postcommit/store-memory';
import type { TestTransaction } from '@postcommit/store-testkit';

/** Stands for a table of the reader's database. */
interface Table {
  now(): Promise<Date>;
  shiftAllTimesBack(ms: number): Promise<void>;
  beginTransaction(): Promise<TestTransaction<MemoryTransaction>>;
  drop(): Promise<void>;
}

export declare function createEmptyTable(): Promise<Table>;

export class MyOutboxStore extends MemoryOutboxStore {
  constructor(_table: Table, options?: OutboxStoreOptions) {
    super(options);
  }
}

export declare const MyOutboxWorkers: new (table: Table) => OutboxWorkers;
export declare const MyOutboxPauses: new (table: Table) => OutboxPauses;
