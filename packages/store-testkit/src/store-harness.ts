import type { OutboxPauses, OutboxStoreOptions, TransactionalOutboxStore } from '@postcommit/core';
import type { OutboxWorkers } from '@postcommit/core/internal';

/** What the tests need from a store. */
export interface StoreHarness<Tx = unknown> {
  /** Opens an empty outbox that is not shared with other tests. */
  open(): Promise<OutboxFixture<Tx>>;
  /** Behaviours that the store can't have. `name` is a group or a test; `reason` is printed. */
  readonly skip?: ReadonlyArray<{ readonly name: string; readonly reason: string }>;
}

/** One outbox under test. */
export interface OutboxFixture<Tx = unknown> {
  /** Creates a store on this outbox. Stores of the same outbox share its rows, as several processes do. */
  createStore(options?: OutboxStoreOptions): TransactionalOutboxStore<Tx>;
  /** Returns the time of the store's clock. For a store on a database, this is the database's time. */
  now(): Promise<Date>;
  /** Advances time for the rows. On a real clock, shift every stored time into the past instead. */
  advance(ms: number): Promise<void>;
  /** Begins a transaction on a separate connection. */
  begin(): Promise<TestTransaction<Tx>>;
  /** The workers that share this outbox. A store without them skips the groups `workers` and `takeovers`. */
  readonly workers?: OutboxWorkers;
  /** The paused topics of this outbox. A store without them skips the group `pauses`. */
  readonly pauses?: OutboxPauses;
  close(): Promise<void>;
}

/** Throws if the fixture lacks a capability that a group needs. */
export function capability<Name extends 'workers' | 'pauses'>(
  outbox: OutboxFixture,
  name: Name,
): NonNullable<OutboxFixture[Name]> {
  const found = outbox[name];
  if (found) return found;
  throw new Error(`the fixture has no '${name}': return them from open(), or skip the group`);
}

/** A transaction that the behaviour ends itself, so that two transactions can interleave. */
export interface TestTransaction<Tx = unknown> {
  /** The handle to pass to `enqueueWith`. */
  readonly handle: Tx;
  /** Sets a savepoint. The returned function rolls back to it. */
  savepoint(): Promise<() => Promise<void>>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
