import type { OutboxStoreOptions } from '@postcommit/core';
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
