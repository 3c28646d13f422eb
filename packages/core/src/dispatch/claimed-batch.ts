import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { PublishStep } from '../observe/interceptors.js';
import type { OutboxPublisher, PublishContext, PublishResult } from '../publish/outbox-publisher.js';
import { type PublishGroup, publishGroupWith } from '../publish/publish-group.js';
import { PublishTimeouts } from '../publish/publish-timeouts.js';
import { finalPublisher } from '../publish/publisher-routes.js';
import { BatchQueue } from './batch-queue.js';
import { BrokenKeys } from './broken-keys.js';
import { ClaimLease } from './claim-lease.js';
import { condemned, undecodable } from './condemned.js';
import { outcomeOfError } from './decide.js';
import type { DispatchEngine } from './dispatch-engine.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import { type PublishBounds, publishBounded } from './publish-bounded.js';
import {
  type EndedRow,
  settleBatch,
  settlePublished,
  stillOurs,
  summarise,
  tellEnds,
} from './settle-batch.js';

type Group = [OutboxRow, ...OutboxRow[]];

/** Rows claimed together, on their way to the publisher and back to the store. */
export class ClaimedBatch {
  readonly rows: readonly OutboxRow[];
  readonly #engine: DispatchEngine;
  readonly #token: string;
  readonly #queue: BatchQueue;
  readonly #lease: ClaimLease;
  readonly #bounds: PublishBounds;
  readonly #publish: PublishStep;
  readonly #publishTogether: PublishGroup;
  /** Rows whose publish has begun and not ended. */
  readonly #running = new Set<OutboxRow>();
  /** Rows that were left to their publisher: nothing is recorded for them, their claims expire. */
  readonly #abandoned = new Set<OutboxRow>();
  #ended: EndedRow[] = [];
  #hasRun = false;
  #isClosing = false;
  #givenBack = 0;
  #mayRetrySettle = false;

  constructor(engine: DispatchEngine, token: string, rows: readonly OutboxRow[], sentAtMs: number) {
    const { store, clock, slots, config } = engine;
    this.rows = rows;
    this.#engine = engine;
    this.#token = token;
    this.#queue = new BatchQueue(rows);
    this.#lease = new ClaimLease(
      store,
      token,
      rows.map(({ id }) => id),
      sentAtMs,
      clock,
    );
    const timeouts = new PublishTimeouts(clock, config.publishTimeoutMs);
    this.#bounds = { lease: this.#lease, timeouts, slots, clock };
    const layers = engine.publishLayers();
    this.#publish = engine.publishWith(layers);
    this.#publishTogether = publishGroupWith(layers);
  }

  /**
   * Publishes every row and records what became of each. With `keepTrying`, a settle that fails is repeated for as
   * long as the claim lives: what was published is then not published again.
   */
  async run({ keepTrying = false } = {}): Promise<DispatchSummary> {
    this.#hasRun = true;
    this.#mayRetrySettle = keepTrying;
    let settled: readonly string[] = [];
    try {
      await this.#publishAll();
    } finally {
      // A crash before this line publishes the batch again; it can never lose it.
      settled = await this.#settle();
    }
    const isOurs = stillOurs(this.#ended, settled);
    const summary = summarise(this.rows.length, this.#ended, isOurs);
    tellEnds(this.#engine.signals, this.#ended, isOurs);
    this.#ended = [];
    this.#engine.signals.tell('batch', summary);
    return summary;
  }

  /** A claim on it had expired: it may have killed the process that held it. */
  get isSuspect(): boolean {
    return this.rows.some(({ retakes }) => retakes > 0);
  }

  /** While it is in flight, no other row of these keys can be claimed. */
  get hasKeys(): boolean {
    return this.rows.some(({ key }) => key !== undefined);
  }

  /** Nothing more starts, and what has not started is given back at once. Until that is done its ids are in `lost`. */
  async giveBackUnstarted(lost: Set<string> = new Set()): Promise<void> {
    this.#isClosing = true;
    const rows = this.#queue.clear();
    if (rows.length === 0) return;
    this.#givenBack += rows.length;
    this.#lease.drop(rows);
    const ids = rows.map(({ id }) => id);
    for (const id of ids) lost.add(id);
    try {
      await this.#engine.store.release(ids, this.#token);
      for (const id of ids) lost.delete(id);
    } catch {
      // Unreachable: their claims expire by themselves.
    }
  }

  /** Rows that are claimed and not settled. */
  get rowsInFlight(): number {
    return this.rows.length - this.#givenBack;
  }

  /** Aborts what is being published and records nothing for it. Its claims are left to expire, never released. */
  abandonRunning(reason: Error): string[] {
    for (const row of this.#running) this.#abandoned.add(row);
    this.#lease.abortAll(reason);
    return [...this.#abandoned].map(({ id }) => id);
  }

  /** Stops repeating a settle that fails. Gives the ids of what is known but not recorded. */
  giveUpSettling(): string[] {
    this.#mayRetrySettle = false;
    this.#lease.end();
    return this.unrecorded;
  }

  /** Ids of what is known but not recorded. */
  get unrecorded(): string[] {
    return this.#ended.map(({ row }) => row.id);
  }

  /** For a batch that may never have been run: gives everything back. */
  async close(): Promise<void> {
    if (this.#hasRun) return;
    await this.giveBackUnstarted();
    this.#lease.end();
  }

  async #settle(): Promise<readonly string[]> {
    this.#bounds.timeouts.stop();
    // From here on the claim runs out: what the store never takes, or never answers, must not be held for ever.
    this.#lease.stopExtending();
    const retryForMs = (): number => (this.#mayRetrySettle ? this.#lease.remainingMs : 0);
    try {
      return await settleBatch(this.#engine, this.#token, this.#ended, retryForMs);
    } catch (error) {
      const saved = new Set(await settlePublished(this.#engine, this.#token, this.#ended));
      this.#ended = this.#ended.filter(({ row }) => !saved.has(row.id));
      throw error;
    } finally {
      this.#lease.end();
    }
  }

  /** As many lanes as may publish at once share the rows. What none of them could start is given back. */
  async #publishAll(): Promise<void> {
    const lanes = Math.min(this.#engine.config.concurrency, this.rows.length);
    await Promise.all(Array.from({ length: lanes }, () => this.#runLane()));
    for (const row of this.#queue.clear()) this.#end(row, released(row));
  }

  /** Publishes one row or group after another, in order, as long as it has a slot and there are some that may start. */
  async #runLane(): Promise<void> {
    const { slots } = this.#engine;
    if (!(await slots.acquire())) return;
    for (let row = this.#queue.take(); row; row = this.#queue.take()) {
      const publisher = this.#publisherOf(row);
      const keepsSlot = publisher.publishBatch
        ? await this.#publishGroup(publisher, row)
        : await this.#publishOne(row);
      // A publisher that does not end keeps our slot; we go on when it ends after all, or with another one.
      if (keepsSlot && (this.#queue.isEmpty || !(await slots.acquire()))) return;
    }
    slots.release({ overdue: false });
  }

  /** A route that can't be asked fails its row when that is published, and no other. */
  #publisherOf(row: OutboxRow): OutboxPublisher {
    try {
      return finalPublisher(this.#engine.publisher, row);
    } catch {
      return this.#engine.publisher;
    }
  }

  /**
   * Whether the publisher still runs, and so keeps the slot. It gets a copy of the row: one that it overwrites must
   * still be settled as the row it was.
   */
  async #publishOne(row: OutboxRow): Promise<boolean> {
    this.#running.add(row);
    const before = this.#verdictBefore(row);
    // Awaiting what is no Promise would cost every row a turn of the queue.
    const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
    const unpublished = verdict ?? (this.#mayStart(row) ? undefined : released(row));
    if (unpublished) {
      this.#end(row, unpublished);
      return false;
    }
    const end = await publishBounded([row], (context) => this.#publish({ ...row }, context), this.#bounds);
    this.#end(row, end.published ? dispatched(row) : this.#failure(end.error, row));
    return end.keepsSlot;
  }

  /** The same for all rows that can go out with this one. */
  async #publishGroup(publisher: OutboxPublisher, first: OutboxRow): Promise<boolean> {
    const group = await this.#fitToPublish(
      this.#queue.takeAlong(first, (row) => this.#publisherOf(row) === publisher),
    );
    if (!isGroup(group)) return false;
    const copies = group.map((row) => ({ ...row }));
    const publish = (context: PublishContext) => this.#publishTogether(publisher, copies, context);
    const end = await publishBounded(group, publish, this.#bounds);
    const broken = new BrokenKeys();
    for (const [place, row] of group.entries()) {
      const result: PublishResult | undefined = end.published
        ? end.value[place]
        : { status: 'rejected', reason: end.error };
      this.#end(row, broken.note(row, broken.has(row) ? released(row) : this.#groupOutcome(row, result)));
    }
    return end.keepsSlot;
  }

  /** Ends the rows that must not be published. A row that is turned away turns away those of its key behind it. */
  async #fitToPublish(rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const fit: OutboxRow[] = [];
    for (const row of rows) this.#running.add(row);
    for (const row of rows) {
      const before = this.#verdictBefore(row);
      const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
      if (verdict) this.#end(row, verdict);
      else fit.push(row);
    }
    // Asked for all at once, and last: claims can be lost while schemas are asked.
    const broken = new BrokenKeys();
    return fit.filter((row) => {
      if (this.#mayStart(row) && !broken.has(row)) return true;
      this.#end(row, broken.note(row, released(row)));
      return false;
    });
  }

  /** Only the unbroken beginning of a key counts: what was sent past a failed row is sent again after it. */
  #groupOutcome(row: OutboxRow, result: PublishResult | undefined): Outcome {
    return result?.status === 'fulfilled' ? dispatched(row) : this.#failure(result?.reason, row);
  }

  #mayStart(row: OutboxRow): boolean {
    return !this.#isClosing && this.#lease.holds(row.id);
  }

  #end(row: OutboxRow, outcome: Outcome): void {
    this.#running.delete(row);
    this.#queue.ended(row, outcome);
    if (!this.#abandoned.has(row)) this.#ended.push({ row, outcome });
  }

  /** What becomes of a row before anything is published; a Promise only where a schema has to be asked. */
  #verdictBefore(row: OutboxRow): Outcome | undefined | Promise<Outcome | undefined> {
    if (this.#queue.isHeldBack(row)) return released(row);
    const { config, pipeline } = this.#engine;
    return condemned(row, config) ?? (pipeline.hasSchema(row.topic) ? this.#misfit(row) : undefined);
  }

  async #misfit(row: OutboxRow): Promise<Outcome | undefined> {
    try {
      const problem = await this.#engine.pipeline.schemaProblem(row.topic, row.payload);
      return problem === undefined ? undefined : undecodable(row, `payload: ${problem}`);
    } catch (error) {
      return this.#failure(error, row);
    }
  }

  #failure(error: unknown, row: OutboxRow): Outcome {
    return outcomeOfError(error, row, this.#engine.config, this.#engine.random);
  }
}

function dispatched({ id }: OutboxRow): Outcome {
  return { id, kind: 'dispatched' };
}

function released({ id }: OutboxRow): Outcome {
  return { id, kind: 'released' };
}

function isGroup(rows: readonly OutboxRow[]): rows is Group {
  return rows.length > 0;
}
