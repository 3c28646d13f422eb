import { setImmediate } from 'node:timers/promises';
import type { SqlDialect, SqlRecord, SqlWork, TableName } from '@postcommit/store-sql';
import { inPublishOrder } from '../../src/row-mapping.js';
import { claimOf, newRow, type SqlSession, WorkInSteps } from '../sql-session.js';
import { History, Violation } from './history.js';
import { Random } from './random.js';
import type { Stage } from './stage.js';

const STEPS = 80;
const KEYS = ['a', 'a', 'b', undefined] as const;
const LIMITS = [1, 3, 8] as const;
const HOUR_MS = 3_600_000;
const MAX_POLLS = 5_000;
/** More would only wait for their turn. */
const MAX_LOCK_WAITERS = 1;
const MAX_DRAIN_ROUNDS = 500;
/** How often nobody comes in between two statements of a claim. */
const UNINTERRUPTED = 0.75;

/** What a dispatcher knows of a row that it claimed. */
interface HeldRow {
  readonly id: string;
  readonly key: string | null;
  outcome: 'held' | 'dispatched' | 'failed' | 'dead';
  /** The dispatcher's own clock says so, too: it publishes nothing from this claim any more. */
  expired: boolean;
}

interface Batch {
  readonly token: string;
  rows: HeldRow[];
}

interface Waiting {
  readonly on: 'lock' | 'row';
  readonly done: Promise<void>;
  isDone: boolean;
  /** Its waiting stands in the trace. */
  isSeen: boolean;
}

interface Actor {
  readonly name: string;
  readonly session: SqlSession;
  waiting: Waiting | undefined;
}

interface Dispatcher extends Actor {
  state: 'idle' | 'begun' | 'claimed';
  pending: WorkInSteps | undefined;
  open: Batch | undefined;
  batches: Batch[];
}

interface Producer extends Actor {
  ids: string[] | undefined;
}

interface Operator extends Actor {
  /** What its open transaction did. */
  open: { readonly displaces: string | undefined } | undefined;
}

interface Step {
  readonly name: string;
  readonly weight: number;
  run(): Promise<void>;
}

/** Weights that differ from run to run: what is rare in one is common in another, and gets in nobody's way in a third. */
interface Habits {
  /** Many keys with one or two rows, instead of a few with a backlog. */
  readonly shortKeys: boolean;
  readonly expiry: number;
  readonly operator: number;
  readonly settle: number;
  readonly extend: number;
  readonly unkeyed: number;
  readonly failure: number;
  /** The share of rows that are enqueued for later. */
  readonly later: number;
}

/** Rows that commit late. */
const LATE: Habits = {
  shortKeys: true,
  expiry: 0,
  operator: 0.1,
  settle: 0.2,
  extend: 0,
  unkeyed: 0.05,
  failure: 1,
  later: 0,
};

/** Dispatchers that stall and come back. */
const STALLING: Habits = { ...LATE, shortKeys: false, expiry: 1.5, settle: 0.5, extend: 1.5 };

function habitsOf(seed: number, random: Random): Habits {
  if (seed % 3 === 1) return LATE;
  if (seed % 3 === 2) return STALLING;
  return {
    shortKeys: random.chance(0.3),
    expiry: random.pick([0, 0.4, 1.5]),
    operator: random.pick([0.3, 1, 2]),
    settle: 1,
    extend: random.pick([0.3, 1]),
    unkeyed: random.pick([0.1, 1]),
    failure: random.pick([0.5, 3]),
    later: random.pick([0, 0.2]),
  };
}

/** The sessions of all runs: three dispatchers, two producers, an operator. */
export interface Cast {
  readonly stage: Stage;
  readonly sessions: readonly SqlSession[];
}

export async function openCast(stage: Stage): Promise<Cast> {
  await stage.prepare();
  const sessions: SqlSession[] = [];
  for (let count = 0; count < 6; count++) sessions.push(await stage.fixture.connect());
  return { stage, sessions };
}

/** One seeded run: random steps, each held against the promises, then a drain. Throws a Violation with its seed. */
export async function runSchedule(
  cast: Cast,
  seed: number,
  dialect: SqlDialect = cast.stage.fixture.dialect,
): Promise<void> {
  await cast.stage.clear();
  const run = new Schedule(cast, seed, dialect);
  try {
    await run.play();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Violation(`${error.message}\nreplay with SEED=${seed}\n${run.trace.join('\n')}`);
  } finally {
    await run.abandon();
  }
}

class Schedule {
  readonly trace: string[] = [];
  readonly #stage: Stage;
  readonly #table: TableName;
  readonly #dialect: SqlDialect;
  readonly #random: Random;
  readonly #habits: Habits;
  readonly #history = new History();
  readonly #dispatchers: readonly Dispatcher[];
  readonly #producers: readonly Producer[];
  readonly #operator: Operator;
  #serial = 0;
  #hasEnded = false;
  #somethingIsLater = false;

  constructor({ stage, sessions }: Cast, seed: number, dialect: SqlDialect) {
    this.#stage = stage;
    this.#table = stage.fixture.table;
    this.#dialect = dialect;
    this.#random = new Random(seed);
    this.#habits = habitsOf(seed, this.#random);
    const actor = (name: string, index: number): Actor => {
      const session = sessions[index];
      if (!session) throw new Error('too few sessions');
      return { name, session, waiting: undefined };
    };
    this.#dispatchers = ['A', 'B', 'C'].map((name, index) => ({
      ...actor(name, index),
      state: 'idle',
      pending: undefined,
      open: undefined,
      batches: [],
    }));
    this.#producers = ['P', 'Q'].map((name, index) => ({ ...actor(name, 3 + index), ids: undefined }));
    this.#operator = { ...actor('O', 5), open: undefined };
  }

  async play(): Promise<void> {
    for (let count = 0; count < STEPS; count++) {
      const step = this.#random.weighted(this.#possibleSteps());
      this.trace.push(step.name);
      await step.run();
      await this.#settleDown();
      await this.#check();
    }
    await this.#drain();
    await this.#checkEnd();
  }

  /** Whatever happened, the next run finds its sessions idle. */
  async abandon(): Promise<void> {
    const actors = [...this.#dispatchers, ...this.#producers, this.#operator];
    // A rollback queues up behind a statement that waits: first those that hold something.
    await Promise.all(actors.map(({ session }) => session.rollback()));
    await Promise.all(actors.map(({ waiting }) => waiting?.done.catch(() => {})));
  }

  #possibleSteps(): Step[] {
    return [
      ...this.#producers.flatMap((producer) => this.#producerSteps(producer)),
      ...this.#dispatchers.flatMap((dispatcher) => this.#publishSteps(dispatcher)),
      ...this.#dispatchers.filter(({ waiting }) => !waiting).flatMap((each) => this.#dispatcherSteps(each)),
      ...(this.#operator.waiting ? [] : this.#operatorSteps()),
      ...(this.#somethingIsLater
        ? [{ name: 'time passes', weight: 0.8, run: () => this.#timePasses() }]
        : []),
      ...this.#expirySteps(),
    ];
  }

  #expirySteps(): Step[] {
    const live = this.#dispatchers
      .flatMap(({ batches }) => batches)
      .flatMap(({ rows }) => rows.filter(({ expired }) => !expired));
    if (live.length === 0) return [];
    const { id } = this.#random.pick(live);
    return [
      { name: 'all claims expire', weight: this.#habits.expiry, run: () => this.#expire(undefined) },
      { name: `the claim on ${id} expires`, weight: 0.4 * this.#habits.expiry, run: () => this.#expire(id) },
    ];
  }

  #producerSteps(producer: Producer): Step[] {
    const { name, ids } = producer;
    if (ids) {
      return [
        { name: `${name} commits ${ids}`, weight: 1, run: () => this.#endProducer(producer, 'commit') },
        { name: `${name} rolls back`, weight: 0.2, run: () => this.#endProducer(producer, 'rollback') },
        ...this.#ifNobodyRequeues({
          name: `${name} inserts`,
          weight: 0.3,
          run: () => this.#insert(producer),
        }),
      ];
    }
    const enqueue = async (): Promise<void> => {
      await this.#insert(producer);
      await this.#endProducer(producer, 'commit');
    };
    return this.#ifNobodyRequeues(
      { name: `${name} begins`, weight: 1, run: () => this.#insert(producer) },
      { name: `${name} enqueues`, weight: 1.5, run: enqueue },
    );
  }

  #ifNobodyRequeues(...steps: Step[]): Step[] {
    const isRequeuing = this.#operator.open?.displaces !== undefined;
    return this.#stage.producersWaitForRequeue && isRequeuing ? [] : steps;
  }

  /** A publish needs no database: it continues while the session waits. */
  #publishSteps({ name, batches }: Dispatcher): Step[] {
    return batches.flatMap((batch) => {
      const next = nextToPublish(batch);
      if (!next) return [];
      return [{ name: `${name} publishes ${next.id}`, weight: 1.5, run: () => this.#publish(next) }];
    });
  }

  #dispatcherSteps(dispatcher: Dispatcher): Step[] {
    const { name, state, batches } = dispatcher;
    const mayWaitForLock = this.#mayWait('lock');
    if (state === 'begun') {
      const take = { name: `${name} claims`, weight: 6, run: () => this.#goOn(dispatcher) };
      return [
        ...(this.#waiting().every(({ on }) => on === 'lock') ? [take] : []),
        { name: `${name} rolls back`, weight: 0.3, run: () => this.#endClaim(dispatcher, 'rollback') },
      ];
    }
    if (state === 'claimed') {
      const isEmpty = dispatcher.open?.rows.length === 0;
      return [
        {
          name: `${name} commits its claim`,
          weight: isEmpty ? 8 : 1,
          run: () => this.#endClaim(dispatcher, 'commit'),
        },
        { name: `${name} rolls back`, weight: 0.2, run: () => this.#endClaim(dispatcher, 'rollback') },
      ];
    }
    const steps: Step[] = [
      {
        name: `${name} begins an unkeyed claim`,
        weight: this.#habits.unkeyed,
        run: () => this.#claimUnkeyed(dispatcher),
      },
    ];
    const isLockHeld = this.#dispatchers.some((other) => other.state !== 'idle');
    const weight = isLockHeld ? 1.2 : 2;
    if (mayWaitForLock) steps.push({ name: `${name} locks`, weight, run: () => this.#lock(dispatcher) });
    if (batches.length === 0) return steps;
    const batch = this.#random.pick(batches);
    if (this.#mayWait('row')) {
      steps.push(
        {
          name: `${name} settles ${describe(batch)}`,
          weight: this.#habits.settle,
          run: () => this.#settle(dispatcher, batch),
        },
        {
          name: `${name} extends ${describe(batch)}`,
          weight: this.#habits.extend,
          run: () => this.#extend(dispatcher, batch),
        },
      );
    }
    return steps;
  }

  #operatorSteps(): Step[] {
    if (this.#operator.open) {
      return [
        { name: 'O commits', weight: 1, run: () => this.#endOperator('commit') },
        { name: 'O rolls back', weight: 0.5, run: () => this.#endOperator('rollback') },
      ];
    }
    const ids = this.#history.committedIds();
    if (ids.length === 0 || !this.#mayWait('row')) return [];
    const id = this.#random.pick(ids);
    const waiting = this.#random.pick([
      id,
      ...ids.filter((each) => !this.#history.wasPublished(each)).slice(0, 3),
    ]);
    return [
      {
        name: `O requeues ${id}`,
        weight: 0.6 * this.#habits.operator,
        run: () => this.#operate(id, this.#dialect.requeue(this.#table, id)),
      },
      {
        name: `O cancels ${id}`,
        weight: 0.2 * this.#habits.operator,
        run: () => this.#operate(id, this.#dialect.cancel(this.#table, id)),
      },
      {
        name: `O looks at ${waiting} for update`,
        weight: 2 * this.#habits.operator,
        run: () => this.#operate(undefined, this.#holdRow(waiting)),
      },
    ];
  }

  /**
   * At most one session waits for a row, and nobody for the lock meanwhile: so one commit lets one session continue, and
   * the run stays the same whatever the server's scheduling is.
   */
  #mayWait(on: Waiting['on']): boolean {
    const waiting = this.#waiting();
    return on === 'row'
      ? waiting.length === 0
      : waiting.every((each) => each.on === 'lock') && waiting.length < MAX_LOCK_WAITERS;
  }

  #waiting(): Waiting[] {
    return [...this.#dispatchers, this.#operator].flatMap(({ waiting }) => waiting ?? []);
  }

  async #insert(producer: Producer): Promise<void> {
    if (!producer.ids) {
      await producer.session.beginByDefault();
      producer.ids = [];
    }
    const id = `m${++this.#serial}`;
    const key = this.#keyOfNext(producer);
    this.#history.enqueueBegan(id, key);
    const isLater = this.#random.chance(this.#habits.later);
    this.#somethingIsLater ||= isLater;
    const row = { ...newRow(id, key), ...(isLater && { availableAt: new Date(Date.now() + HOUR_MS) }) };
    await producer.session.run(this.#dialect.insert(this.#table, [row]));
    producer.ids.push(id);
    this.trace.push(`  ${producer.name} inserted ${id}, key ${key}${isLater ? ', for later' : ''}`);
  }

  /**
   * Where keys are short, the two producers like the same: the older row then often commits last, when the younger
   * one is in flight.
   */
  #keyOfNext(producer: Producer): string | undefined {
    if (!this.#habits.shortKeys) return this.#random.pick(KEYS);
    const other = this.#producers.find((each) => each !== producer)?.ids?.at(-1);
    if (other !== undefined && this.#random.chance(0.8)) return this.#history.keyOf(other);
    return this.#random.chance(0.1) ? undefined : `k${this.#serial}`;
  }

  async #endProducer(producer: Producer, command: 'commit' | 'rollback'): Promise<void> {
    await producer.session[command]();
    this.#hasEnded = true;
    for (const id of producer.ids ?? []) {
      if (command === 'commit') this.#history.enqueueCommitted(id);
      else this.#history.enqueueRolledBack(id);
    }
    producer.ids = undefined;
  }

  async #lock(dispatcher: Dispatcher): Promise<void> {
    const token = `t${++this.#serial}`;
    const limit = this.#random.pick(LIMITS);
    const work = this.#dialect.claimKeyed(this.#table, claimOf({ token, limit, perKey: limit }));
    await this.#beginClaim(dispatcher, token, work);
    await this.#takeStep(dispatcher);
  }

  async #claimUnkeyed(dispatcher: Dispatcher): Promise<void> {
    const token = `t${++this.#serial}`;
    const limit = this.#random.pick(LIMITS);
    const claim = claimOf({ token, limit });
    // Some leave out a topic that no row has, which must not matter.
    const work =
      this.#serial % 3 === 0
        ? this.#dialect.claimUnkeyedExcept(this.#table, { ...claim, exceptTopics: ['away'] })
        : this.#dialect.claimUnkeyed(this.#table, claim);
    await this.#beginClaim(dispatcher, token, work);
    await this.#goOn(dispatcher);
  }

  async #beginClaim(dispatcher: Dispatcher, token: string, work: SqlWork): Promise<void> {
    await this.#stage.nameActor(dispatcher.session, `claim:${token}`);
    await dispatcher.session.begin();
    dispatcher.state = 'begun';
    dispatcher.pending = new WorkInSteps(dispatcher.session, work);
    dispatcher.open = { token, rows: [] };
  }

  /** Some statements of a claim, or the rest: others may come in between two of them. */
  async #goOn(dispatcher: Dispatcher): Promise<void> {
    do {
      await this.#takeStep(dispatcher);
    } while (dispatcher.state === 'begun' && !dispatcher.waiting && this.#random.chance(UNINTERRUPTED));
  }

  async #takeStep(dispatcher: Dispatcher): Promise<void> {
    const { open, pending } = dispatcher;
    if (!open || !pending) throw new Error('no claim was begun');
    await this.#issue(dispatcher, 'lock', pending.next(), () => {
      if (!pending.isDone) return;
      dispatcher.state = 'claimed';
      dispatcher.open = { ...open, rows: heldRows(pending.records) };
      this.trace.push(`  ${dispatcher.name} claimed ${describe(dispatcher.open)}`);
    });
  }

  async #endClaim(dispatcher: Dispatcher, command: 'commit' | 'rollback'): Promise<void> {
    await dispatcher.session[command]();
    this.#hasEnded = true;
    const { open } = dispatcher;
    if (command === 'commit' && open && open.rows.length > 0) {
      this.#history.claim(open.rows.map(({ id }) => id));
      dispatcher.batches.push(open);
    }
    dispatcher.state = 'idle';
    dispatcher.open = undefined;
  }

  async #publish(row: HeldRow): Promise<void> {
    this.#history.publish(row.id);
    row.outcome = this.#random.weighted([
      { weight: 6, outcome: 'dispatched' as const },
      { weight: this.#habits.failure, outcome: 'failed' as const },
      { weight: 1, outcome: 'dead' as const },
    ]).outcome;
    this.trace.push(`  ${row.outcome}`);
  }

  /** Either what was dispatched, or the rest: what is still held is given back. */
  async #settle(dispatcher: Dispatcher, batch: Batch): Promise<void> {
    const dispatched = batch.rows.filter(({ outcome }) => outcome === 'dispatched');
    const settlesDispatched = dispatched.length > 0 && this.#random.chance(0.7);
    const rows = settlesDispatched
      ? dispatched
      : batch.rows.filter(({ outcome }) => outcome !== 'dispatched');
    if (rows.length === 0) return;
    const delayMs = this.#random.pick([0, 0, HOUR_MS]);
    this.#somethingIsLater ||= delayMs > 0;
    const statement = settlesDispatched
      ? this.#dialect.settleDispatched(
          this.#table,
          batch.token,
          rows.map(({ id }) => id),
        )
      : this.#dialect.settleUnpublished(
          this.#table,
          batch.token,
          rows.map((row) => unpublished(row, delayMs)),
        );
    batch.rows = batch.rows.filter((row) => !rows.includes(row));
    if (batch.rows.length === 0) dispatcher.batches = dispatcher.batches.filter((each) => each !== batch);
    await this.#fenced(dispatcher, `settle:${batch.token}`, statement, (ids) => {
      this.trace.push(`  settled ${ids} of ${rows.map(({ id, outcome }) => `${id}=${outcome}`)}`);
      for (const { id, outcome } of rows)
        if (outcome === 'dead' && ids.includes(id)) this.#history.displaced(id);
    });
  }

  async #extend(dispatcher: Dispatcher, batch: Batch): Promise<void> {
    const ids = batch.rows.map(({ id }) => id);
    const statement = this.#dialect.extendClaim(this.#table, batch.token, ids, HOUR_MS);
    await this.#fenced(dispatcher, `extend:${batch.token}`, statement, (kept) => {
      this.trace.push(`  kept ${kept}`);
      for (const row of batch.rows) row.expired = !kept.includes(row.id);
    });
  }

  async #fenced(
    dispatcher: Dispatcher,
    actor: string,
    work: SqlWork,
    then: (ids: string[]) => void,
  ): Promise<void> {
    await this.#stage.nameActor(dispatcher.session, actor);
    await this.#issue(dispatcher, 'row', dispatcher.session.run(work), (records) => {
      then(records.map(({ id }) => String(id)));
    });
  }

  async #operate(displaces: string | undefined, work: SqlWork): Promise<void> {
    const { session } = this.#operator;
    const staysOpen = displaces === undefined || this.#random.chance(0.5);
    // Displaced from now on: whoever sees the change before the commit is over may act on it.
    if (displaces !== undefined) this.#history.displaced(displaces);
    await this.#stage.nameActor(session, 'operator');
    if (staysOpen) await session.begin();
    this.#operator.open = staysOpen ? { displaces } : undefined;
    await this.#issue(this.#operator, 'row', session.run(work), () => {});
  }

  async #endOperator(command: 'commit' | 'rollback'): Promise<void> {
    await this.#operator.session[command]();
    this.#hasEnded = true;
    this.#operator.open = undefined;
  }

  /** A session waits for a lock in the server, not here: the run continues with others until one commits. */
  async #issue<Result>(
    actor: Actor,
    on: Waiting['on'],
    underWay: Promise<Result>,
    then: (result: Result) => void,
  ): Promise<void> {
    const waiting: Waiting = {
      on,
      isDone: false,
      isSeen: false,
      done: underWay.then((result) => {
        waiting.isDone = true;
        then(result);
      }),
    };
    // A failed statement is reported where it is waited for.
    waiting.done.catch(() => {
      waiting.isDone = true;
    });
    actor.waiting = waiting;
    await this.#settleDown();
  }

  /** Until every statement under way is done, or seen waiting for a lock that another session holds. */
  async #settleDown(): Promise<void> {
    for (const actor of [...this.#dispatchers, this.#operator]) {
      const { waiting } = actor;
      // A session that was seen waiting keeps waiting until a transaction ends.
      if (!waiting || (waiting.isSeen && !this.#hasEnded) || (await this.#isBlocked(actor, waiting)))
        continue;
      await waiting.done;
      actor.waiting = undefined;
    }
    this.#hasEnded = false;
  }

  async #isBlocked({ name, session }: Actor, waiting: Waiting): Promise<boolean> {
    for (let poll = 0; poll < MAX_POLLS; poll++) {
      await setImmediate();
      if (waiting.isDone) return false;
      if (await session.isBlocked()) {
        if (!waiting.isSeen) this.trace.push(`  ${name} waits`);
        waiting.isSeen = true;
        return true;
      }
    }
    throw new Error(`the statement of ${name} neither ended nor waited`);
  }

  async #timePasses(): Promise<void> {
    this.#somethingIsLater = false;
    await this.#stage.timePasses();
  }

  async #expire(id: string | undefined): Promise<void> {
    const expired = await this.#stage.expire(id);
    for (const { rows, token } of this.#dispatchers.flatMap(({ batches }) => batches)) {
      for (const row of rows) {
        row.expired ||= expired.some((each) => each.id === row.id && each.token === token);
      }
    }
  }

  async #check(): Promise<void> {
    this.#history.audit(await this.#stage.takeAudit());
    const keys = await this.#stage.keysWithTwoOwners();
    if (keys.length > 0) throw new Violation(`I4: two owners of the key ${keys.join(', ')}`);
  }

  /** Ends what is open, lets every claim expire, then one dispatcher alone takes what is left. */
  async #drain(): Promise<void> {
    this.trace.push('drain');
    for (const producer of this.#producers) if (producer.ids) await this.#endProducer(producer, 'commit');
    for (let round = 0; round < 10; round++) {
      if (this.#operator.open && !this.#operator.waiting) await this.#endOperator('rollback');
      for (const dispatcher of this.#dispatchers) {
        if (dispatcher.state !== 'idle' && !dispatcher.waiting) await this.#endClaim(dispatcher, 'rollback');
        await this.#settleDown();
      }
    }
    await this.#timePasses();
    await this.#expire(undefined);
    await this.#check();
    for (let round = 0; round < MAX_DRAIN_ROUNDS; round++) if ((await this.#drainOne()) === 0) return;
    throw new Violation(`I2: ${MAX_DRAIN_ROUNDS} batches did not drain the outbox`);
  }

  async #drainOne(): Promise<number> {
    const session = this.#dispatchers[0]?.session;
    if (!session) return 0;
    const claim = claimOf({ token: `t${++this.#serial}`, limit: 50, perKey: 50 });
    await this.#stage.nameActor(session, `claim:${claim.token}`);
    let records = await session.run(this.#dialect.claimUnkeyed(this.#table, claim));
    if (heldRows(records).length === 0) {
      records = await session.run(this.#dialect.claimKeyed(this.#table, claim));
    }
    const rows = heldRows(records);
    if (rows.length === 0) return 0;
    this.#history.claim(rows.map(({ id }) => id));
    for (const { id } of rows) this.#history.publish(id);
    await this.#stage.nameActor(session, `settle:${claim.token}`);
    await session.run(
      this.#dialect.settleDispatched(
        this.#table,
        claim.token,
        rows.map(({ id }) => id),
      ),
    );
    await this.#check();
    return rows.length;
  }

  async #checkEnd(): Promise<void> {
    const stored = await this.#stage.stored();
    const committed = new Set(this.#history.committedIds());
    for (const { id, dispatched, dead } of stored) {
      if (!committed.delete(id)) throw new Violation(`I1: ${id} is there but never committed`);
      if (!dispatched && !dead) throw new Violation(`I2: ${id} is still pending`);
      if (dispatched && !this.#history.wasPublished(id)) throw new Violation(`I2: ${id} was lost`);
    }
    if (committed.size > 0) throw new Violation(`I1: ${[...committed]} committed but are gone`);
  }

  /** As somebody with a database tool does: a lock on a row that changes nothing. */
  #holdRow(id: string): SqlWork {
    return { text: `select id from ${this.#table.sql} where id = '${id}' for update`, values: [] };
  }
}

function heldRows(records: readonly SqlRecord[]): HeldRow[] {
  const rows = records.filter(({ id }) => id !== null) as { id: string; key: string | null }[];
  return (inPublishOrder(rows) as typeof rows).map(({ id, key }) => ({
    id,
    key,
    outcome: 'held',
    expired: false,
  }));
}

/** In order; a row whose elder of the same key failed or expired is not published. */
function nextToPublish({ rows }: Batch): HeldRow | undefined {
  return rows.find(
    (row, index) =>
      row.outcome === 'held' &&
      !row.expired &&
      rows
        .slice(0, index)
        .every(
          (elder) => elder.key !== row.key || elder.outcome === 'dispatched' || elder.outcome === 'dead',
        ),
  );
}

function unpublished({ id, outcome }: HeldRow, delayMs: number) {
  if (outcome === 'failed') return { id, kind: 'failed', error: 'x', delayMs } as const;
  if (outcome === 'dead') return { id, kind: 'dead', error: 'x', reason: 'permanent' } as const;
  return { id, kind: 'released' } as const;
}

function describe({ token, rows }: Batch): string {
  return `${token}[${rows.map(({ id, key }) => `${id}/${key}`)}]`;
}
