import {
  OutboxWorkers,
  tokenPrefix,
  type WorkerIdentity,
  type WorkerRecord,
  type WorkerReport,
  type WorkerSighting,
} from '@postcommit/core/internal';
import { isPending, type MemoryRow } from './memory-row.js';
import type { MemoryTable, MemoryWorker } from './memory-table.js';

/** Keeps the workers of a table in memory: of one process, or of several in a simulation. */
export class MemoryOutboxWorkers extends OutboxWorkers {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    super();
    this.#table = table;
  }

  async register(worker: WorkerIdentity, report: WorkerReport): Promise<void> {
    if (this.#table.workers.has(worker.id)) return;
    const nowMs = this.#table.now();
    const { id, host, pid, version, takeoverMs } = worker;
    const identity = { id, host, pid, version, takeoverMs };
    this.#table.workers.set(id, { ...identity, report, startedAt: nowMs, lastSeenAt: nowMs, beats: 0 });
  }

  async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
    const worker = this.#table.workers.get(id);
    if (!worker || worker.lostAt !== undefined) return undefined;
    worker.report = report;
    worker.lastSeenAt = this.#table.now();
    worker.beats += 1;
    return [...this.#table.workers.values()]
      .filter((other) => other !== worker)
      .map((other) => this.#sightingOf(other));
  }

  async declareLost(id: string, lastSeen: string): Promise<boolean> {
    const worker = this.#table.workers.get(id);
    if (!worker || worker.lostAt !== undefined || lastSeenOf(worker) !== lastSeen) return false;
    worker.lostAt = this.#table.now();
    return true;
  }

  async takeOver(id: string): Promise<number> {
    const worker = this.#table.workers.get(id);
    if (worker?.lostAt === undefined) return 0;
    const rows = [...this.#table.rows()].filter(
      (row) => isPending(row) && row.claimToken?.startsWith(tokenPrefix(id)) && this.#end(row, worker),
    );
    this.#table.workers.delete(id);
    return rows.length;
  }

  async remove(id: string): Promise<void> {
    this.#table.workers.delete(id);
  }

  async list(): Promise<WorkerRecord[]> {
    const nowMs = this.#table.now();
    return [...this.#table.workers.values()].map(
      ({ id, host, pid, version, takeoverMs, report, startedAt, lastSeenAt, lostAt }) => ({
        ...{ id, host, pid, version, takeoverMs, ...report },
        startedAgeMs: nowMs - startedAt,
        lastSeenAgeMs: nowMs - lastSeenAt,
        isLost: lostAt !== undefined,
      }),
    );
  }

  #sightingOf(worker: MemoryWorker): WorkerSighting {
    return {
      id: worker.id,
      host: worker.host,
      pid: worker.pid,
      lastSeen: lastSeenOf(worker),
      ageMs: this.#table.now() - worker.lastSeenAt,
      takeoverMs: worker.takeoverMs,
      isLost: worker.lostAt !== undefined,
    };
  }

  /** Returns whether the claim ends earlier now. */
  #end(row: MemoryRow, { takeoverMs }: MemoryWorker): boolean {
    const until = this.#table.now() + (2 ** row.retakes - 1) * takeoverMs;
    if (row.claimedUntil === undefined || row.claimedUntil <= until) return false;
    row.claimedUntil = until;
    return true;
  }
}

/** The time alone may be the same for two heartbeats. */
function lastSeenOf({ lastSeenAt, beats }: MemoryWorker): string {
  return `${lastSeenAt}/${beats}`;
}
