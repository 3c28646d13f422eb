import type { MemoryTable } from '@postcommit/store-memory';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import { HEARTBEAT_MS } from '../../src/worker/worker-watch.js';
import type { History } from './history.js';
import type { RowLedger, RowStory } from './row-ledger.js';
import { type Settings, takeoverMsOf } from './settings.js';
import type { SimClock } from './sim-clock.js';
import type { SimProcess } from './sim-process.js';

/** A publish of one row, as the publisher sees it. */
export interface PublishRecord {
  /** The same for rows that were published in one call. */
  readonly call: symbol;
  readonly signal: AbortSignal;
  readonly startedMs: number;
  /** Of its call, among all of the world. */
  readonly place: number;
  /** `given up`: it ended after the engine had aborted it, so that its result says nothing any more. */
  end?: 'ok' | 'error' | 'permanent' | 'away' | 'given up';
  /** The broker was away for it, but had answered the process since it was away for this row before. */
  mayBeRowsFault?: boolean;
}

/** One row under one claim. */
export interface ClaimedRow {
  readonly story: RowStory;
  /** The row's turn in its key when it was claimed. */
  readonly turn: number;
  readonly attempts: number;
  readonly retakes: number;
  readonly maxAttempts: number;
  /** By the database's clock, in milliseconds since the world began. */
  untilMs: number;
  /** How the claim on it ended. `void`: an operator requeued or cancelled the row. */
  ended?: Outcome['kind'] | 'void' | 'expired';
  publish?: PublishRecord;
  /** `ofBatch`: not a mere release, which is not repeated. */
  lastSettle?: { readonly atMs: number; readonly failed: boolean; readonly ofBatch: boolean };
}

/** Rows that a process claimed together. */
export interface Claim {
  readonly token: string;
  readonly process: SimProcess;
  readonly settings: Settings;
  readonly sentAtMs: number;
  readonly rows: ReadonlyMap<string, ClaimedRow>;
  /** Where the process can rely on it, by its own clock. */
  deadlineMs: number;
  /** The process knows of it: the answer was not lost. */
  isReceived: boolean;
  /** Settles of the batch that wait for their answer. */
  unanswered: number;
  /** A settle of it failed, so that what the engine knows may be less than what is true. */
  hadSettleTrouble: boolean;
  /** Its process said that it leaves these to expire. */
  readonly abandoned: Set<string>;
}

/** Calls are counted in the order in which they began. */
interface BrokerKnowledge {
  /** The newest call that was answered. */
  answered: number;
  /** For each row that the broker was away for: the newest call at that time. */
  readonly awayFor: Map<string, number>;
}

/** Waits between repeated settles grow up to this. */
const LONGEST_SETTLE_RETRY_MS = 2_000;
/** Of the last answer, and of a timer that fires late. */
const SLACK_MS = 100;
const ROUNDING_MS = 0.01;

/** Claims and what is done under them. Holds I3 (fence), I4 (one owner), I5 (a failed head), I6 and I8. */
export class ClaimLedger {
  readonly #history: History;
  readonly #rows: RowLedger;
  readonly #clock: SimClock;
  readonly #table: MemoryTable;
  readonly #claims = new Map<string, Claim>();
  /** The last claim on each row. */
  readonly #current = new Map<string, { readonly claim: Claim; readonly row: ClaimedRow }>();
  readonly #names = new Map<string, string>();
  #mostRetakes = 0;
  #calls = 0;
  /** What each process knows of the broker. */
  readonly #knowledge = new Map<SimProcess, BrokerKnowledge>();

  constructor(history: History, rows: RowLedger, clock: SimClock, table: MemoryTable) {
    this.#history = history;
    this.#rows = rows;
    this.#clock = clock;
    this.#table = table;
  }

  get claims(): Iterable<Claim> {
    return this.#claims.values();
  }

  claim(token: string): Claim | undefined {
    return this.#claims.get(token);
  }

  /** A message really went out. */
  sent({ id, claimToken }: OutboxRow, by: string): void {
    this.#rows.sent(id, this.#claims.get(claimToken ?? '')?.rows.get(id)?.turn, by);
  }

  /** The store claimed rows for a process, which may never receive the answer. */
  claimed(rows: readonly OutboxRow[], process: SimProcess, settings: Settings, sentAtMs: number): void {
    const token = rows[0]?.claimToken;
    if (token === undefined) return;
    this.#mostRetakes = Math.max(this.#mostRetakes, settings.maxRetakes);
    const claim: Claim = {
      token,
      process,
      settings,
      sentAtMs,
      rows: new Map(rows.map((row) => [row.id, this.#claimedRow(row, settings)])),
      deadlineMs: sentAtMs + settings.claimTimeoutMs,
      isReceived: false,
      unanswered: 0,
      hadSettleTrouble: false,
      abandoned: new Set(),
    };
    this.#history.note(
      process.name,
      'claimed',
      () => `${[...claim.rows.keys()].join(' ')} as ${this.#nameOf(token)}`,
    );
    for (const row of claim.rows.values()) this.#assertFree(claim, row);
    this.#claims.set(token, claim);
    for (const row of claim.rows.values()) this.#current.set(row.story.id, { claim, row });
  }

  /** The store let claims live on. */
  extended(token: string, ids: readonly string[]): void {
    const claim = this.#claims.get(token);
    for (const id of ids) {
      const row = claim?.rows.get(id);
      if (!claim || !row || row.ended !== undefined) {
        this.#history.violated(
          'I3',
          `the claim ${this.#nameOf(token)} on ${id} was extended after it had ended`,
        );
        continue;
      }
      row.untilMs = this.#clock.elapsedMs + claim.settings.claimTimeoutMs;
    }
  }

  /** The claim on a row ends earlier: its worker was declared lost. */
  endsAt(token: string, id: string, untilMs: number): void {
    const row = this.#claims.get(token)?.rows.get(id);
    if (row) row.untilMs = Math.min(row.untilMs, untilMs);
  }

  /** The process heard of it. */
  extensionAnswered(token: string, sentAtMs: number): void {
    const claim = this.#claims.get(token);
    if (claim) claim.deadlineMs = Math.max(claim.deadlineMs, sentAtMs + claim.settings.claimTimeoutMs);
  }

  publishStarted(rows: readonly OutboxRow[], signal: AbortSignal): void {
    const call = Symbol('call');
    this.#calls += 1;
    for (const { id, claimToken } of rows) {
      const claim = this.#claims.get(claimToken ?? '');
      const row = claim?.rows.get(id);
      if (!claim || !row) {
        this.#history.violated('I6', `${id} was published without a claim`);
        continue;
      }
      this.#history.note(claim.process.name, 'publishes', () => `${id} under ${this.#nameOf(claim.token)}`);
      this.#assertMayStart(claim, row, call);
      row.publish = { call, place: this.#calls, signal, startedMs: this.#clock.elapsedMs };
      signal.addEventListener('abort', () => this.#assertAbortExcused(claim, row));
      // Nothing is recorded, and nothing counted, for a publish whose row an operator has taken away.
      if (row.ended !== 'void') row.story.startsUnrecorded += 1;
      // Each claim that is lost counts as a retake, and the last one that is allowed is not published any more.
      if (row.story.startsUnrecorded > this.#mostRetakes)
        this.#history.violated(
          'I8',
          `${id} was published ${row.story.startsUnrecorded} times, and nothing of it recorded`,
        );
    }
  }

  publishEnded({ id, claimToken }: OutboxRow, end: 'ok' | 'error' | 'permanent' | 'away'): void {
    const claim = this.#claims.get(claimToken ?? '');
    const row = claim?.rows.get(id);
    if (!claim || !row?.publish) return;
    row.publish.end = row.publish.signal.aborted ? 'given up' : end;
    this.#learn(claim.process, id, row.publish);
    this.#history.note(claim.process.name, `publish: ${row.publish.end}`, () => id);
    // Its key continues in the same batch, before the outcome is in the table. (A crash in between makes it live
    // again, behind the rows that went past it: the promise ends with the verdict.)
    if (isDoomed(row) && !isHeldBack(claim, row)) row.story.hasLostItsPlace = true;
  }

  /**
   * An outage costs no attempts. Only a row that is alone with it may be to blame: one that the broker was away for
   * twice, with an answer between to a call that began after the first time.
   */
  #learn(process: SimProcess, id: string, publish: PublishRecord): void {
    const known = this.#knowledge.get(process) ?? { answered: 0, awayFor: new Map<string, number>() };
    this.#knowledge.set(process, known);
    if (publish.end === 'given up') return;
    if (publish.end !== 'away') {
      known.answered = Math.max(known.answered, publish.place);
      return;
    }
    publish.mayBeRowsFault = known.answered > (known.awayFor.get(id) ?? Number.POSITIVE_INFINITY);
    known.awayFor.set(id, this.#calls);
  }

  /** The engine asks the store to record outcomes: each must be what the publisher saw. */
  settleSent(token: string, outcomes: readonly Outcome[], ofBatch: boolean): void {
    const claim = this.#claims.get(token);
    if (claim && ofBatch) {
      // A second one while the first is unanswered: the engine has given up on the first.
      if (claim.unanswered > 0) claim.hadSettleTrouble = true;
      claim.unanswered += 1;
    }
    for (const outcome of outcomes) {
      const row = claim?.rows.get(outcome.id);
      const problem = claim && row ? misreported(claim, row, outcome) : 'was never claimed under this token';
      if (problem)
        this.#history.violated(promiseOf(outcome), `${outcome.id}, to be ${outcome.kind}, ${problem}`);
    }
  }

  /** What a settle really changed. */
  settled(token: string, outcome: Outcome): void {
    const claim = this.#claims.get(token);
    const row = claim?.rows.get(outcome.id);
    if (!claim || !row) return;
    this.#history.note(claim.process.name, `settled ${outcome.kind}`, () => outcome.id);
    const current = this.#current.get(outcome.id);
    if (row.ended !== undefined || current?.row !== row) {
      this.#history.violated(
        'I3',
        `${outcome.id} became ${outcome.kind} by ${this.#nameOf(token)}, whose claim was lost`,
      );
      return;
    }
    row.ended = outcome.kind;
    if (outcome.kind === 'dead') this.#assertDeserved(claim, row, outcome.reason);
    const { kind } = outcome;
    if (kind === 'released') this.#rows.released(row.story, { wasPublished: row.publish !== undefined });
    else this.#rows.recorded(row.story, kind === 'failed' ? 'pending' : kind);
  }

  settleAnswered(
    token: string,
    outcomes: readonly Outcome[],
    answer: { readonly failed: boolean; readonly ofBatch: boolean },
  ): void {
    const claim = this.#claims.get(token);
    if (!claim) return;
    if (answer.ofBatch) claim.unanswered -= 1;
    if (answer.failed) claim.hadSettleTrouble = true;
    for (const { id } of outcomes) {
      const row = claim.rows.get(id);
      if (row) row.lastSettle = { atMs: this.#clock.elapsedMs, ...answer };
    }
  }

  /** An operator took the row away from whoever held it. */
  voided(id: string): void {
    const current = this.#current.get(id);
    if (current) current.row.ended ??= 'void';
  }

  /** The tokens of workers are drawn anew in each run; a trace must not be. */
  #nameOf(token: string): string {
    const name = this.#names.get(token) ?? `c${this.#names.size + 1}`;
    this.#names.set(token, name);
    return name;
  }

  /** Whether the row was retaken by this process, after another one had died with it. */
  #isSuspect(process: SimProcess, id: string): boolean {
    for (const claim of this.#claims.values()) {
      const row = claim.process === process ? claim.rows.get(id) : undefined;
      if (row && row.ended !== 'dispatched' && row.retakes > 0) return true;
    }
    return false;
  }

  #claimedRow(row: OutboxRow, settings: Settings): ClaimedRow {
    const story = this.#rows.story(row.id);
    return {
      story,
      turn: story.turn,
      attempts: row.attempts,
      retakes: row.retakes,
      maxAttempts: row.retry.maxAttempts ?? settings.maxAttempts,
      untilMs: this.#clock.elapsedMs + settings.claimTimeoutMs,
    };
  }

  #assertFree(claim: Claim, row: ClaimedRow): void {
    const { story } = row;
    if (story.state !== 'pending') {
      const promise = story.committed === undefined ? 'I1' : 'I4';
      this.#history.violated(promise, `${story.id} was claimed, and is ${story.state}`);
    }
    const before = this.#current.get(story.id);
    if (before && before.row.ended === undefined) this.#expired(claim, before.claim, before.row);
    if (story.key !== undefined) this.#assertKeyFree(claim, row);
  }

  #expired(by: Claim, claim: Claim, row: ClaimedRow): void {
    const { id } = row.story;
    const nowMs = this.#clock.elapsedMs;
    if (row.untilMs > nowMs) {
      this.#history.violated('I4', `${id} was claimed while the claim of ${claim.process.name} on it lived`);
      return;
    }
    row.ended = 'expired';
    this.#history.note(by.process.name, 'retook', () => `${id} from ${claim.process.name}`);
    if (by.rows.size > 1) this.#history.violated('I8', `${id} was retaken, but not alone`);
    const { death } = claim.process;
    // Two calls of `dispatchPending` at a time know nothing of each other: each brings rows that the other may kill.
    // And nobody can do anything for a row whose claim came to nobody.
    const isNeighbours = death?.kind === 'poisoned' && death.id !== id && claim.isReceived;
    // After the first crash nobody knows which row caused it; a suspect is claimed alone.
    const wasSuspect = isNeighbours && this.#isSuspect(claim.process, death.id);
    if (wasSuspect && !claim.settings.overlaps) row.story.neighbourDeaths += 1;
    else row.story.otherExpiries += 1;
    this.#assertExcused(claim, row);
  }

  /** I6: a duplicate needs a reason. A process that lives and reaches its store lets no claim expire. */
  #assertExcused(claim: Claim, row: ClaimedRow): void {
    const { process, settings } = claim;
    const { id } = row.story;
    if (!claim.isReceived || process.isDead || claim.abandoned.has(id)) return;
    if (process.wasWellSince(wellSinceMs(claim))) {
      this.#history.violated(
        'I6',
        `the claim on ${id} expired, though ${process.name} and its store were well`,
      );
      return;
    }
    const { lastSettle } = row;
    if (
      settings.role !== 'worker' ||
      !lastSettle?.failed ||
      !lastSettle.ofBatch ||
      // It tried again and waits for the answer.
      claim.unanswered > 0 ||
      !process.wasAwakeSince(claim.sentAtMs)
    )
      return;
    if (process.isStopped) return;
    // Others may have taken it over before.
    const deadlineMs = Math.min(claim.deadlineMs, row.untilMs);
    if (deadlineMs - lastSettle.atMs > LONGEST_SETTLE_RETRY_MS + SLACK_MS)
      this.#history.violated('I6', `${process.name} gave up to settle ${id} long before its claim ended`);
  }

  #assertKeyFree(claim: Claim, row: ClaimedRow): void {
    const { id, key } = row.story;
    const nowMs = this.#clock.elapsedMs;
    for (const other of this.#current.values()) {
      if (other.row.story.key !== key || other.row.ended !== undefined || other.claim === claim) continue;
      if (other.row.untilMs > nowMs && !claim.rows.has(other.row.story.id))
        this.#history.violated('I4', `${id} was claimed while ${other.claim.process.name} held its key`);
    }
    const seq = this.#table.get(id)?.seq ?? 0;
    const inFront = [...claim.rows.keys()];
    inFront.length = inFront.indexOf(id);
    for (const elder of this.#table.rows()) {
      const isHead = elder.key === key && elder.seq < seq && !elder.dispatchedAt && !elder.deadAt;
      if (isHead && !inFront.includes(elder.id))
        this.#history.violated('I5', `${id} was claimed without ${elder.id}, the head of its key`);
    }
  }

  #assertMayStart(claim: Claim, row: ClaimedRow, call: symbol): void {
    const { id } = row.story;
    if (row.publish) this.#history.violated('I6', `${id} was published twice under one claim`);
    if (claim.process.isStopped || (claim.process.isStopping && !this.#asksSchema(claim, row)))
      this.#history.violated('I11', `${id} was published by ${claim.process.name}, which was stopped`);
    // A void claim is known to its owner only after the next heartbeat.
    if (row.ended !== 'void' && (row.ended !== undefined || row.untilMs <= this.#clock.elapsedMs))
      this.#history.violated('I6', `${id} was published under a claim that is ${row.ended ?? 'expired'}`);
    if (row.attempts >= row.maxAttempts)
      this.#history.violated('I8', `${id} was tried more often than ${row.maxAttempts} times`);
    if (row.retakes >= claim.settings.maxRetakes)
      this.#history.violated('I8', `${id} was published after its claim had expired ${row.retakes} times`);
    if (row.story.key !== undefined) this.#assertNotOvertaking(claim, row, call);
  }

  /** What waits for a schema, its own or one of its group, when the stop comes may be published before it has ended. */
  #asksSchema({ settings, rows }: Claim, { story }: ClaimedRow): boolean {
    const ids = settings.publishesBatches ? [...rows.keys()] : [story.id];
    return ids.some((id) => this.#table.get(id)?.topic === 'checked');
  }

  /** I6: a publish ends by itself, or at its time-out. Its claim is not lost while all is well. */
  #assertAbortExcused(claim: Claim, row: ClaimedRow): void {
    const { process, settings } = claim;
    const ranMs = this.#clock.elapsedMs - (row.publish?.startedMs ?? 0);
    if (ranMs > settings.publishTimeoutMs - ROUNDING_MS || process.isStopping || row.ended === 'void') return;
    if (process.wasWellSince(wellSinceMs(claim)))
      this.#history.violated('I6', `${process.name} lost the claim on ${row.story.id}, though all was well`);
  }

  /** I5: a row that failed, or has not been tried, holds back those of its key behind it. */
  #assertNotOvertaking(claim: Claim, row: ClaimedRow, call: symbol): void {
    for (const elder of claim.rows.values()) {
      if (elder === row) return;
      if (elder.story.key !== row.story.key) continue;
      const { publish } = elder;
      if (publish && (publish.end === 'ok' || publish.call === call)) continue;
      if (publish ? isDoomed(elder) : isCondemned(claim, elder)) elder.story.hasLostItsPlace = true;
      else this.#history.violated('I5', `${row.story.id} overtook ${elder.story.id}, of the same key`);
    }
  }

  /** I8: a row is not dead because of neighbours that are known to have killed before. */
  #assertDeserved({ settings }: Claim, { story }: ClaimedRow, reason: string): void {
    if (reason !== 'crashed' || story.kind === 'poison') return;
    if (story.neighbourDeaths > 0 && story.otherExpiries + 1 < settings.maxRetakes)
      this.#history.violated(
        'I8',
        `${story.id} is dead, because rows in other claims killed its process ${story.neighbourDeaths} times`,
      );
  }
}

/** Of a registered worker, heartbeats before the claim count: others may not have heard of it for some time already. */
function wellSinceMs({ settings, sentAtMs }: Claim): number {
  return settings.takeoverAfterMs === false ? sentAtMs : sentAtMs - takeoverMsOf(settings) - HEARTBEAT_MS;
}

/** What is wrong with an outcome, seen from the publisher. */
function misreported(claim: Claim, row: ClaimedRow, outcome: Outcome): string | undefined {
  const { publish } = row;
  const hasFailed = publish !== undefined && publish.end !== 'ok' && isOver(publish) && !isAway(publish);
  switch (outcome.kind) {
    case 'dispatched':
      return publish?.end === 'ok'
        ? undefined
        : `is ${publish ? 'not yet published' : 'not being published'}`;
    case 'failed':
      return hasFailed ? undefined : 'did not fail';
    case 'dead':
      if (outcome.untried) return isCondemned(claim, row) && !publish ? undefined : 'was not condemned';
      return isDoomed(row) ? undefined : 'has tries left';
    case 'released':
      return publish === undefined || publish.end === 'away' || isHeldBack(claim, row)
        ? undefined
        : 'was handed to the publisher';
  }
}

/** The row keeps its attempts. */
function isAway({ end, mayBeRowsFault }: PublishRecord): boolean {
  return end === 'away' && !mayBeRowsFault;
}

function isOver({ end, signal }: PublishRecord): boolean {
  return end !== undefined || signal.aborted;
}

/** In one call with an older row of its key that failed: whatever the publisher says, it is published again. */
function isHeldBack(claim: Claim, row: ClaimedRow): boolean {
  for (const elder of claim.rows.values()) {
    if (elder === row) return false;
    const isOfCall = elder.story.key === row.story.key && elder.publish?.call === row.publish?.call;
    if (isOfCall && elder.publish?.end !== 'ok' && !isDoomed(elder)) return true;
  }
  return false;
}

/** The publish failed, and there will be no other. */
function isDoomed({ publish, attempts, maxAttempts }: ClaimedRow): boolean {
  if (!publish || publish.end === 'ok' || isAway(publish) || !isOver(publish)) return false;
  return publish.end === 'permanent' || attempts + 1 >= maxAttempts;
}

/** Not to be published at all. */
function isCondemned({ settings }: Claim, { story, attempts, retakes, maxAttempts }: ClaimedRow): boolean {
  return story.kind === 'misfit' || retakes >= settings.maxRetakes || attempts >= maxAttempts;
}

function promiseOf({ kind }: Outcome): 'I2' | 'I6' | 'I8' {
  if (kind === 'dispatched') return 'I2';
  return kind === 'released' ? 'I6' : 'I8';
}
