import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { BoundedWaits } from '../runtime/timing.js';
import type { OutboxWorkers, WorkerSighting } from '../store/outbox-workers.js';
import { HEARTBEAT_MS, WorkerWatch } from './worker-watch.js';

/** Ending the claims of a lost worker writes a batch or two of rows. */
const TAKEOVER_LIMIT_MS = 30_000;

export interface TakeoverOptions {
  readonly workers: OutboxWorkers;
  readonly events: DispatchEvents;
  readonly calls: BoundedWaits;
  /** Rows of a lost worker can be claimed. */
  readonly onTakenOver: () => void;
}

/** Declares workers lost that have fallen silent, and ends their claims. */
export class Takeovers {
  readonly watch = new WorkerWatch();
  readonly #options: TakeoverOptions;
  readonly #underWay = new Set<string>();

  constructor(options: TakeoverOptions) {
    this.#options = options;
  }

  /** Takes a heartbeat's answer, which lists all other workers. */
  saw(others: readonly WorkerSighting[], sentAtMs: number, answeredAtMs: number): void {
    for (const other of this.watch.read(others, sentAtMs, answeredAtMs)) void this.#takeOver(other);
    // Whoever declared it lost may have died before it could end its claims.
    for (const other of others) if (other.isLost) void this.#takeOver(other);
  }

  /** Never rejects: if it fails, the next heartbeat tries again. */
  async #takeOver(other: WorkerSighting): Promise<void> {
    const { workers, events, onTakenOver } = this.#options;
    const { id, host, pid } = other;
    if (this.#underWay.has(id)) return;
    this.#underWay.add(id);
    try {
      if (!other.isLost && !(await this.#within(workers.declareLost(id, other.lastSeen)))) return;
      const rows = await this.#within(workers.takeOver(id));
      events.emit('workerLost', { workerId: id, host, pid, rows });
      if (rows > 0) onTakenOver();
    } catch (error) {
      events.emit('trouble', { error, retryInMs: HEARTBEAT_MS });
    } finally {
      this.#underWay.delete(id);
    }
  }

  #within<T>(call: Promise<T>): Promise<T> {
    return this.#options.calls.within(TAKEOVER_LIMIT_MS, 'take over a lost worker', call);
  }
}
