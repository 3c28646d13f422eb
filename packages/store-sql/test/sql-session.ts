import { randomUUID } from 'node:crypto';
import type { NewRow } from '@postcommit/core';
import {
  runWork,
  type SqlDialect,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
  TableName,
} from '@postcommit/store-sql';
import type { KeyedClaim, UnkeyedClaim } from '../src/dialect.js';
import type { SqlSteps } from '../src/sql-statement.js';

/** As PostgreSQL quotes it; a fixture has its own. */
export const TABLE = new TableName();
const HOUR_MS = 3_600_000;
const MAX_POLLS = 2_000;

/** One database session whose transactions the test begins and ends itself. */
export abstract class SqlSession {
  readonly #dialect: SqlDialect;
  #isOpen = false;

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  abstract query(statement: SqlStatement): Promise<SqlRecord[]>;

  /** Whether it waits for a lock that another session holds, by the server's account. */
  abstract isBlocked(): Promise<boolean>;

  /** Ends it from outside, as when its process dies; resolves when the server has undone what was open. */
  abstract kill(): Promise<void>;

  abstract end(): Promise<void>;

  /** As an executor does: in the transaction that is open here, else steps have one of their own. */
  async run(work: SqlWork): Promise<SqlRecord[]> {
    if (this.#isOpen || typeof work !== 'function') return this.#take(work);
    await this.begin();
    try {
      const records = await this.#take(work);
      await this.commit();
      return records;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  sql(text: string, values: unknown[] = []): Promise<SqlRecord[]> {
    return this.query({ text, values });
  }

  /** As the store begins its own transactions. */
  async begin(): Promise<void> {
    await this.#begin(...this.#dialect.begin);
  }

  /** As an application does that sets nothing. */
  async beginByDefault(): Promise<void> {
    await this.#begin('begin');
  }

  commit(): Promise<void> {
    return this.#end('commit');
  }

  rollback(): Promise<void> {
    return this.#end('rollback');
  }

  async #begin(...texts: readonly string[]): Promise<void> {
    this.#isOpen = true;
    for (const text of texts) await this.sql(text);
  }

  async #end(text: 'commit' | 'rollback'): Promise<void> {
    this.#isOpen = false;
    await this.sql(text);
  }

  #take(work: SqlWork): Promise<SqlRecord[]> {
    return runWork(work, (statement) => this.query(statement));
  }
}

/** Work in hand, to be taken step by step, with whatever the test does in between. */
export class WorkInSteps {
  readonly #session: SqlSession;
  readonly #steps: SqlSteps;
  #step: ReturnType<SqlSteps['next']>;

  constructor(session: SqlSession, work: SqlWork) {
    this.#session = session;
    this.#steps = (typeof work === 'function' ? work : () => only(work))();
    this.#step = this.#steps.next();
  }

  get isDone(): boolean {
    return this.#step.done === true;
  }

  /** The records of the last step. */
  get records(): readonly SqlRecord[] {
    if (!this.#step.done) throw new Error('there are more steps');
    return this.#step.value;
  }

  async next(): Promise<void> {
    if (this.#step.done) throw new Error('there are no more steps');
    this.#step = this.#steps.next(await this.#session.query(this.#step.value));
  }

  async rest(): Promise<readonly SqlRecord[]> {
    while (!this.isDone) await this.next();
    return this.records;
  }
}

/** The statements of steps that do not look at what came before; nothing runs. */
export function statementsOf(work: SqlWork): SqlStatement[] {
  if (typeof work !== 'function') return [work];
  const steps = work();
  const statements: SqlStatement[] = [];
  for (let step = steps.next(); !step.done; step = steps.next([])) statements.push(step.value);
  return statements;
}

function* only(statement: SqlStatement): SqlSteps {
  return yield statement;
}

/** The rows of a claim, without the record that carries only what the claim saw. */
export function claimedIds(records: readonly SqlRecord[]): string[] {
  return records
    .filter(({ id }) => id !== null)
    .sort((a, b) => Number(a.seq) - Number(b.seq))
    .map(({ id }) => String(id));
}

export function claimOf(options: Partial<KeyedClaim & UnkeyedClaim> = {}): KeyedClaim & UnkeyedClaim {
  return {
    token: randomUUID(),
    timeoutMs: HOUR_MS,
    limit: 10,
    mayRetake: true,
    window: 500,
    perKey: 10,
    parked: [],
    after: undefined,
    isBacklog: false,
    lockWaitMs: 60_000,
    serverMs: 60_000,
    ...options,
  };
}

export function newRow(id: string, key?: string): NewRow {
  return { id, topic: 't', payload: '{}', ...(key !== undefined && { key }) };
}

/** Resolves when the session waits for a lock that another one holds; asks the server, bounded. */
export async function untilBlocked(session: Pick<SqlSession, 'isBlocked'>): Promise<void> {
  for (let poll = 0; poll < MAX_POLLS; poll++) if (await session.isBlocked()) return;
  throw new Error('the session never waited for a lock');
}
