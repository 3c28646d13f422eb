import {
  backgroundClock,
  OutboxWorkers,
  type WorkerIdentity,
  type WorkerOutage,
  type WorkerRecord,
  type WorkerReport,
  type WorkerSighting,
} from '@postcommit/core/internal';
import type { WorkerStatements } from '../capability-statements.js';
import type { SqlTableOptions } from '../dialect.js';
import { BoundedStatements } from '../run-work.js';
import type { SqlExecutor, SqlRecord, SqlWork } from '../sql-statement.js';
import { inPages } from '../store/sql-outbox-store.js';
import type { TableName } from '../table-name.js';
import { checkedExecutor } from './checked-executor.js';
import { namedTable } from './named-table.js';

/**
 * Stores one row per worker, timed by the database's clock. No call but `takeOver` touches the outbox table, so a
 * heartbeat never waits for claims. All but `list` have a limit, since a worker depends on them.
 */
export class SqlOutboxWorkers extends OutboxWorkers {
  readonly #run: (work: SqlWork) => Promise<SqlRecord[]>;
  readonly #runUnlimited: (work: SqlWork) => Promise<SqlRecord[]>;
  readonly #statements: WorkerStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlOutboxWorkers', options);
    this.#statements = dialect.workers;
    this.#table = table;
    const statements = new BoundedStatements({ executor, dialect, clock: backgroundClock });
    this.#run = checkedExecutor((work) => statements.run('heartbeat', () => work), dialect, table);
    this.#runUnlimited = checkedExecutor(executor, dialect, table);
  }

  async register(worker: WorkerIdentity, report: WorkerReport): Promise<void> {
    await this.#run(this.#statements.register(this.#table, worker, report));
  }

  async beat(id: string, report: WorkerReport): Promise<WorkerSighting[] | undefined> {
    let records: SqlRecord[] = [];
    for (const statement of this.#statements.beat(this.#table, id, report))
      records = await this.#run(statement);
    if (records.length === 0) return undefined;
    return records.filter((record) => record.id !== null).map(toSighting);
  }

  async declareLost(id: string, lastSeen: string): Promise<boolean> {
    return (await this.#run(this.#statements.declareLost(this.#table, id, lastSeen))).length > 0;
  }

  async takeOver(id: string): Promise<number> {
    const { endClaims, forgetLost } = this.#statements;
    const total = await inPages(async (pageSize) => {
      const [record] = await this.#run(endClaims(this.#table, id, pageSize));
      return Number(record?.ended ?? 0);
    });
    // Keeps the record while rows are left that were locked: the next call ends their claims.
    await this.#run(forgetLost(this.#table, id));
    return total;
  }

  async remove(id: string): Promise<void> {
    await this.#run(this.#statements.remove(this.#table, id));
  }

  async list(): Promise<WorkerRecord[]> {
    return (await this.#runUnlimited(this.#statements.list(this.#table))).map(toRecord);
  }
}

function toSighting({ id, host, pid, last_seen, age_ms, takeover_ms, is_lost }: SqlRecord): WorkerSighting {
  return {
    id: String(id),
    host: String(host),
    pid: Number(pid),
    lastSeen: String(last_seen),
    ageMs: Number(age_ms),
    takeoverMs: Number(takeover_ms),
    isLost: isTrue(is_lost),
  };
}

function toRecord(record: SqlRecord): WorkerRecord {
  return {
    id: String(record.id),
    host: String(record.host),
    pid: Number(record.pid),
    version: String(record.version),
    takeoverMs: Number(record.takeover_ms),
    rowsInFlight: Number(record.rows_in_flight),
    isListening: isTrue(record.is_listening),
    outages: JSON.parse(String(record.outages)) as WorkerOutage[],
    startedAgeMs: Number(record.started_age_ms),
    lastSeenAgeMs: Number(record.age_ms),
    isLost: isTrue(record.is_lost),
  };
}

/** Only PostgreSQL has booleans; the others return 0 or 1. */
function isTrue(value: unknown): boolean {
  return Number(value) === 1;
}
