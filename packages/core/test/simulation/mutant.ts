import type { MemoryOutboxStore, MemoryTable } from '@postcommit/store-memory';
import type { MemoryOutboxWorkers } from '../../../store-memory/src/memory-outbox-workers.js';
import type { DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { OutboxPublisher } from '../../src/publish/outbox-publisher.js';
import type { OutboxStore } from '../../src/store/outbox-store.js';

/** One thing broken in the engine or in its store. The ledgers stand outside of it, and must find it out. */
export interface Mutant {
  readonly name: string;
  readonly breaks: RegExp;
  /** The table as the store sees it. */
  table?(table: MemoryTable): MemoryTable;
  /** The store itself, behind the ledgers. */
  inner?(store: MemoryOutboxStore): MemoryOutboxStore;
  /** The records of the workers. */
  workers?(workers: MemoryOutboxWorkers): MemoryOutboxWorkers;
  /** What the engine is given in place of its store. */
  store?(store: OutboxStore, events: DispatchEvents): OutboxStore;
  publisher?(publisher: OutboxPublisher): OutboxPublisher;
  /** What a stop does when it has ended. */
  afterStop?(store: OutboxStore, abandoned: ReadonlyMap<string, string>): void;
  /** Breaks a class of the engine. Returns a function that restores it. */
  patch?(): () => void;
}
