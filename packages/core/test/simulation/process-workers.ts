import type { MemoryTable } from '@postcommit/store-memory';
import type { MemoryOutboxWorkers } from '../../../store-memory/src/memory-outbox-workers.js';
import {
  OutboxWorkers,
  tokenPrefix,
  type WorkerIdentity,
  type WorkerRecord,
  type WorkerReport,
  type WorkerSighting,
} from '../../src/store/outbox-workers.js';
import type { ProcessStore } from './process-store.js';
import type { World } from './world.js';

/** The records of the workers as one process reaches them: as unreliably as it reaches the rows. */
export class ProcessWorkers extends OutboxWorkers {
  readonly #world: World;
  readonly #store: ProcessStore;
  readonly #inner: MemoryOutboxWorkers;
  readonly #table: MemoryTable;

  constructor(world: World, store: ProcessStore, inner: MemoryOutboxWorkers) {
    super();
    this.#world = world;
    this.#store = store;
    this.#inner = inner;
    this.#table = world.table;
  }

  register(worker: WorkerIdentity, report: WorkerReport): Promise<void> {
    return this.#store.reach(() => this.#inner.register(worker, report));
  }

  beat(id: string, report: WorkerReport): Promise<readonly WorkerSighting[] | undefined> {
    return this.#store.reach(() => this.#inner.beat(id, report));
  }

  declareLost(id: string, lastSeen: string): Promise<boolean> {
    return this.#store.reach(() => this.#inner.declareLost(id, lastSeen));
  }

  takeOver(id: string): Promise<number> {
    return this.#store.reach(async () => {
      const rows = await this.#inner.takeOver(id);
      if (rows > 0) this.#world.history.note('world', 'takes over', () => `${rows} rows`);
      for (const row of this.#table.rows())
        if (row.claimToken?.startsWith(tokenPrefix(id)) && row.claimedUntil !== undefined)
          this.#world.claims.endsAt(row.claimToken, row.id, this.#world.clock.since(row.claimedUntil));
      return rows;
    });
  }

  remove(id: string): Promise<void> {
    return this.#store.reach(() => this.#inner.remove(id));
  }

  list(): Promise<WorkerRecord[]> {
    return this.#inner.list();
  }
}
