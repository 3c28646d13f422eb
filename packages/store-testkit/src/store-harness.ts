import type { OutboxStoreOptions, TransactionalOutboxStore } from '@postcommit/core';

/** What the test of a store must provide. */
export interface StoreHarness<Tx = unknown> {
  /** Opens an outbox that is empty and belongs to one test alone. */
  open(): Promise<OutboxFixture<Tx>>;
  /** Behaviours that this store can't show: `name` is the group or the test, `reason` is printed. */
  readonly skip?: ReadonlyArray<{ readonly name: string; readonly reason: string }>;
}

/** One outbox under test. */
export interface OutboxFixture<Tx = unknown> {
  /** A store on this outbox. Called several times, it gives several dispatchers that share the rows. */
  createStore(options?: OutboxStoreOptions): TransactionalOutboxStore<Tx>;
  /** The store's clock: the database's, for a store on a database. */
  now(): Promise<Date>;
  /** Lets time pass for the rows. A store on a real clock shifts every stored time into the past instead. */
  advance(ms: number): Promise<void>;
  /** Opens a transaction on a connection of its own. */
  begin(): Promise<TestTransaction<Tx>>;
  close(): Promise<void>;
}

/** A transaction that a behaviour ends when it wants: that is how two of them interleave. */
export interface TestTransaction<Tx = unknown> {
  /** What `enqueueWith` takes. */
  readonly handle: Tx;
  /** Marks a savepoint; the returned function rolls back to it. */
  savepoint(): Promise<() => Promise<void>>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
