import type { WorkerIdentity, WorkerReport, WorkerSighting } from '@postcommit/core/internal';
import { MemoryOutboxStore, type MemoryTable } from '@postcommit/store-memory';
import { MemoryOutboxPauses } from '../../store-memory/src/memory-outbox-pauses.js';
import { MemoryOutboxWorkers } from '../../store-memory/src/memory-outbox-workers.js';
import type { Mutant } from './mutants.js';

/** Workers that expose their table to the mutants. */
abstract class BrokenWorkers extends MemoryOutboxWorkers {
  protected readonly table: MemoryTable;

  constructor(table: MemoryTable) {
    super(table);
    this.table = table;
  }

  protected claimedBy(id: string): ReturnType<MemoryTable['get']>[] {
    return [...this.table.rows()].filter(({ claimToken }) => claimToken?.startsWith(`${id}.`));
  }
}

function workersMutant(
  defect: string,
  caughtBy: string,
  Workers: new (table: MemoryTable) => BrokenWorkers,
): Mutant {
  return { defect, caughtBy, parts: { createWorkers: (table) => new Workers(table) } };
}

function pausesMutant(
  defect: string,
  caughtBy: string,
  Pauses: new (table: MemoryTable) => MemoryOutboxPauses,
): Mutant {
  return { defect, caughtBy, parts: { createPauses: (table) => new Pauses(table) } };
}

const NEVER: WorkerReport = { rowsInFlight: 0, isListening: false, outages: [] };

export const workerMutants: readonly Mutant[] = [
  workersMutant(
    'forgets what a worker says of itself when it registers',
    'a registered worker is listed with all that is known of it',
    class extends BrokenWorkers {
      override register(worker: WorkerIdentity): Promise<void> {
        return super.register(worker, NEVER);
      }
    },
  ),
  workersMutant(
    'ignores the report of a heartbeat',
    'a heartbeat records the time and what the worker says of itself',
    class extends BrokenWorkers {
      override beat(id: string): Promise<WorkerSighting[] | undefined> {
        return super.beat(id, NEVER);
      }
    },
  ),
  workersMutant(
    'shows a worker itself among the others',
    'a heartbeat records the time and what the worker says of itself',
    class extends BrokenWorkers {
      override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
        const others = await super.beat(id, report);
        const own = { id, host: '', pid: 1, lastSeen: '', ageMs: 0, takeoverMs: 1, isLost: false };
        return others && [...others, own];
      }
    },
  ),
  workersMutant(
    'answers with the time of a heartbeat instead of its age',
    'a heartbeat returns all other workers, and how long ago each was seen',
    class extends BrokenWorkers {
      override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
        const others = await super.beat(id, report);
        return others?.map((other) => ({ ...other, ageMs: this.table.now() - other.ageMs }));
      }
    },
  ),
  workersMutant(
    'has a clock that is too coarse for two heartbeats',
    'lastSeen changes with each heartbeat, and only then',
    class extends BrokenWorkers {
      override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
        const others = await super.beat(id, report);
        return others?.map((other) => ({ ...other, lastSeen: other.lastSeen.replace(/\/.*/, '') }));
      }
    },
  ),
  workersMutant(
    'creates a record for a heartbeat without one',
    'a heartbeat without a record is not answered and leaves none',
    class extends BrokenWorkers {
      override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
        await super.register({ id, host: '', pid: 1, version: '', takeoverMs: 1_000 }, report);
        return super.beat(id, report);
      }
    },
  ),
  workersMutant(
    'declares a worker lost although it was seen since',
    'a worker is not declared lost if it was seen since',
    class extends BrokenWorkers {
      override async declareLost(id: string): Promise<boolean> {
        const worker = this.table.workers.get(id);
        if (!worker || worker.lostAt !== undefined) return false;
        worker.lostAt = this.table.now();
        return true;
      }
    },
  ),
  workersMutant(
    'tells everyone that it was their call that declared a worker lost',
    'of several that declare a worker lost, one does it',
    class extends BrokenWorkers {
      override async declareLost(id: string, lastSeen: string): Promise<boolean> {
        return (await super.declareLost(id, lastSeen)) || this.table.workers.has(id);
      }
    },
  ),
  workersMutant(
    'answers the heartbeat of a lost worker',
    'the heartbeat of a lost worker is not answered, and others see that it is lost',
    class extends BrokenWorkers {
      override async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
        return (await super.beat(id, report)) ?? (this.table.workers.has(id) ? [] : undefined);
      }
    },
  ),
  workersMutant(
    'revives a lost worker that registers again',
    'registering again keeps the record, and does not revive a lost worker',
    class extends BrokenWorkers {
      override async register(worker: WorkerIdentity, report: WorkerReport): Promise<void> {
        this.table.workers.delete(worker.id);
        await super.register(worker, report);
      }
    },
  ),
  workersMutant(
    'removes all records',
    'only the record of the worker that stopped is removed',
    class extends BrokenWorkers {
      override async remove(): Promise<void> {
        this.table.workers.clear();
      }
    },
  ),
  {
    defect: 'ignores the token that a claim brings',
    caughtBy: 'claims under a token of the caller carry it',
    parts: {
      createStore: (options) =>
        new (class extends MemoryOutboxStore {
          override fetchPending(limit: number) {
            return super.fetchPending(limit);
          }
        })(options),
    },
  },
  workersMutant(
    'releases the claims of a lost worker as if they had not crashed it',
    'the rows of a lost worker are retaken one at a time, and its claim is fenced',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const rows = this.claimedBy(id);
        const count = await super.takeOver(id);
        for (const row of rows) Object.assign(row ?? {}, { claimToken: undefined, claimedUntil: undefined });
        return count;
      }
    },
  ),
  workersMutant(
    'takes the claims of every worker whose id begins the same',
    'all claims of a worker end, those of others stay',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const ended = await super.takeOver(id);
        for (const row of this.table.rows())
          if (row.claimToken?.startsWith(id)) row.claimedUntil = this.table.now();
        return ended;
      }
    },
  ),
  workersMutant(
    'reads an id as a pattern',
    'an id with a wildcard names one worker',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const pattern = new RegExp(`^${id.replaceAll('_', '.')}\\.`, 'i');
        const ended = await super.takeOver(id);
        for (const row of this.table.rows())
          if (pattern.test(row.claimToken ?? '')) row.claimedUntil = this.table.now();
        return ended;
      }
    },
  ),
  workersMutant(
    'takes the claims of a worker that is not lost',
    'the claims of a worker that is not lost stay, as does its record',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const worker = this.table.workers.get(id);
        if (worker) worker.lostAt = this.table.now();
        return super.takeOver(id);
      }
    },
  ),
  workersMutant(
    'takes the absence of a record for a loss',
    'the claims of a worker without a record stay',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const ended = await super.takeOver(id);
        for (const row of this.claimedBy(id)) Object.assign(row ?? {}, { claimedUntil: this.table.now() });
        return ended;
      }
    },
  ),
  workersMutant(
    'ends the claims on rows that are dispatched or dead',
    'rows that ended are not touched',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const rows = this.claimedBy(id);
        for (const row of rows)
          if (row?.dispatchedAt !== undefined || row?.deadAt !== undefined) row.claimToken = undefined;
        await super.takeOver(id);
        return rows.length;
      }
    },
  ),
  workersMutant(
    'keeps the record of a lost worker',
    'taking over removes the record, and again changes nothing',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const worker = this.table.workers.get(id);
        const ended = await super.takeOver(id);
        if (worker) this.table.workers.set(id, worker);
        return ended;
      }
    },
  ),
  workersMutant(
    'keeps the record of a lost worker without claims',
    'a worker without claims leaves no record either',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        return this.claimedBy(id).length === 0 ? 0 : super.takeOver(id);
      }
    },
  ),
  workersMutant(
    'hands a row that crashes workers on at once',
    'each time a row is retaken, it waits twice as long for the next',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        for (const row of this.claimedBy(id)) Object.assign(row ?? {}, { claimedUntil: this.table.now() });
        await super.takeOver(id);
        return 1;
      }
    },
  ),
  workersMutant(
    'lets a row wait beyond the end of its claim',
    'a row waits at most until its claim expires',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        for (const row of this.claimedBy(id)) Object.assign(row ?? {}, { claimedUntil: Number.MAX_VALUE });
        return super.takeOver(id);
      }
    },
  ),
  workersMutant(
    'ends only the claim on the last row of a key',
    'the rows of a key are retaken in order, one at a time',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const last = this.claimedBy(id).at(-1);
        const ended = await super.takeOver(id);
        if (last?.key !== undefined)
          Object.assign(last, { claimToken: undefined, claimedUntil: undefined, seq: 0 });
        return ended;
      }
    },
  ),
  workersMutant(
    'makes a row that waits longer due later, so that its followers overtake it',
    'a row that waits longer holds back the rows behind it with the same key',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const rows = this.claimedBy(id).filter((row) => (row?.retakes ?? 0) > 0);
        const ended = await super.takeOver(id);
        for (const row of rows) {
          const availableAt = row?.claimedUntil ?? 0;
          Object.assign(row ?? {}, {
            availableAt,
            claimedUntil: this.table.now(),
            seq: this.table.nextSeq(),
          });
        }
        return ended;
      }
    },
  ),
  {
    defect: 'revives the claims of a lost worker',
    caughtBy: 'a lost worker that comes back can’t extend its claims on rows with a key',
    parts: {
      createStore: (options) =>
        new (class extends MemoryOutboxStore {
          override async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
            return ids.filter((id) => options.table.get(id)?.claimToken === token);
          }
        })(options),
    },
  },
  workersMutant(
    'ends one page of claims and stops',
    'taking over is not limited to one page',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        const late = this.claimedBy(id).slice(1_000);
        const untils = late.map((row) => row?.claimedUntil);
        const ended = await super.takeOver(id);
        for (const [index, row] of late.entries()) Object.assign(row ?? {}, { claimedUntil: untils[index] });
        return ended - late.length;
      }
    },
  ),
  workersMutant(
    'takes the rows of a lost worker away from a settle',
    'taking over and settling at the same time neither fail nor settle a row twice',
    class extends BrokenWorkers {
      override async takeOver(id: string): Promise<number> {
        for (const row of this.table.rows()) {
          if (row.claimToken?.startsWith(`${id}.`)) Object.assign(row, { dispatchedAt: undefined });
        }
        return super.takeOver(id);
      }
    },
  ),
];

export const pauseMutants: readonly Mutant[] = [
  pausesMutant(
    'begins with a paused topic',
    'no topic is paused at first',
    class extends MemoryOutboxPauses {
      constructor(table: MemoryTable) {
        super(table);
        table.pauses.set('order.paid', 0);
      }
    },
  ),
  {
    defect: 'does not tell workers which topics are paused',
    caughtBy: 'a paused topic is known to every store until it is resumed',
    parts: {
      createStore: (options) =>
        new (class extends MemoryOutboxStore {
          override async lookAhead() {
            return { ...(await super.lookAhead()), pausedTopics: [] };
          }
        })(options),
    },
  },
  pausesMutant(
    'reports every pause as new',
    'pausing and resuming return whether they changed something',
    class extends MemoryOutboxPauses {
      override async pause(topic: string): Promise<boolean> {
        await super.pause(topic);
        return true;
      }
    },
  ),
  pausesMutant(
    'looks, waits and then pauses',
    'of several that pause a topic, one does it',
    class extends MemoryOutboxPauses {
      override async pause(topic: string): Promise<boolean> {
        const isPaused = (await this.list()).some((paused) => paused.topic === topic);
        await super.pause(topic);
        return !isPaused;
      }
    },
  ),
  pausesMutant(
    'lists the topics in the order in which they were paused',
    'paused topics are listed in alphabetical order',
    class extends MemoryOutboxPauses {
      readonly #order: string[] = [];
      override pause(topic: string): Promise<boolean> {
        this.#order.push(topic);
        return super.pause(topic);
      }
      override async list() {
        const place = ({ topic }: { topic: string }): number => this.#order.indexOf(topic);
        return (await super.list()).sort((a, b) => place(a) - place(b));
      }
    },
  ),
  pausesMutant(
    'compares topics without regard to case',
    'topics that differ only in case or in a space are different topics',
    class extends MemoryOutboxPauses {
      override resume(topic: string): Promise<boolean> {
        return super.resume(topic.toLowerCase());
      }
    },
  ),
  pausesMutant(
    'begins a pause again when it is repeated',
    'the time of a pause is that of the first call',
    class extends MemoryOutboxPauses {
      override async pause(topic: string): Promise<boolean> {
        const isNew = !(await this.resume(topic));
        await super.pause(topic);
        return isNew;
      }
    },
  ),
  {
    defect: 'answers with paused topics instead of the next due time',
    caughtBy: 'paused topics and the next due time are answered together',
    parts: {
      createStore: (options) =>
        new (class extends MemoryOutboxStore {
          override async lookAhead() {
            const { pausedTopics, ...ahead } = await super.lookAhead();
            return { ...(pausedTopics.length === 0 && ahead), pausedTopics };
          }
        })(options),
    },
  },
];
