import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { PublishTimeouts } from '../publish/publish-timeouts.js';
import { BatchPublishing, type BatchPublishingOptions } from './batch-publishing.js';
import { emitEnds, stillOurs, summarise } from './batch-report.js';
import { ClaimLease } from './claim-lease.js';
import type { PublishBounds } from './publish-bounded.js';
import { isEnded, RowInFlight } from './row-in-flight.js';
import { type SettleTarget, settleBatch, settlePublished } from './settle-batch.js';

/** What a batch needs to be published and settled. */
export interface BatchContext
  extends Omit<BatchPublishingOptions, 'bounds'>,
    Omit<SettleTarget, 'token'>,
    Pick<PublishBounds, 'slots'> {
  readonly publishTimeoutMs: number;
}

/** Rows that were claimed together, on their way to the publisher and back to the store. */
export class ClaimedBatch {
  readonly rows: readonly OutboxRow[];
  /** A claim on it had expired: it may have killed the process that held it. */
  readonly isSuspect: boolean;
  /** While it is in flight, no other row of its keys can be claimed. */
  readonly hasKeys: boolean;
  readonly #inFlight: readonly RowInFlight[];
  readonly #target: SettleTarget;
  readonly #lease: ClaimLease;
  readonly #timeouts: PublishTimeouts;
  readonly #publishing: BatchPublishing;
  #hasRun = false;
  #mayRetrySettle = false;

  constructor(context: BatchContext, token: string, rows: readonly OutboxRow[], sentAtMs: number) {
    const { store, clock, slots, publishTimeoutMs } = context;
    this.rows = rows;
    this.isSuspect = rows.some(({ retakes }) => retakes > 0);
    this.hasKeys = rows.some(({ key }) => key !== undefined);
    this.#inFlight = rows.map((row) => new RowInFlight(row));
    this.#target = { ...context, token };
    this.#lease = new ClaimLease(store, token, this.#inFlight, sentAtMs, clock);
    this.#timeouts = new PublishTimeouts(clock, publishTimeoutMs);
    const bounds = { lease: this.#lease, timeouts: this.#timeouts, slots, clock };
    this.#publishing = new BatchPublishing(this.#inFlight, { ...context, bounds });
  }

  /**
   * Publishes every row and records what became of each. With `keepTrying`, a settle that fails is repeated for as
   * long as the claim lives: what was published is then not published again.
   */
  async run({ keepTrying = false } = {}): Promise<DispatchSummary> {
    this.#hasRun = true;
    this.#mayRetrySettle = keepTrying;
    let summary: DispatchSummary;
    try {
      await this.#publishing.run();
    } finally {
      // A crash before this line publishes the batch again; it can never lose it.
      summary = await this.#settle();
    }
    return summary;
  }

  /** Rows that are claimed here and neither settled nor released. */
  get rowsInFlight(): number {
    return this.#inFlight.filter(({ phase }) => phase !== 'returning' && phase !== 'settled').length;
  }

  /** Ids of rows whose claim we may still hold, because nothing could be recorded for them. */
  get unresolved(): string[] {
    return this.#inFlight.filter(({ phase }) => phase !== 'settled').map(({ id }) => id);
  }

  /** Lets nothing more start and releases at once what has not started. Never rejects. */
  async releaseUnstarted(): Promise<void> {
    const unstarted = this.#publishing.close();
    if (unstarted.length === 0) return;
    this.#lease.drop(unstarted);
    const { store, token } = this.#target;
    try {
      await store.release(
        unstarted.map(({ id }) => id),
        token,
      );
      for (const flight of unstarted) flight.phase = 'settled';
    } catch {
      // The store is out of reach: the claims expire by themselves.
    }
  }

  /** Aborts what is being published and records nothing for it. Its claims are left to expire, never released. */
  abandonRunning(reason: Error): void {
    for (const flight of this.#inFlight) if (flight.phase === 'publishing') flight.phase = 'abandoned';
    this.#lease.abortAll(reason);
  }

  /** Stops repeating a settle that fails. */
  giveUpSettling(): void {
    this.#mayRetrySettle = false;
    this.#lease.end();
  }

  /** For a batch that may never have been run: releases everything. */
  async close(): Promise<void> {
    if (this.#hasRun) return;
    await this.releaseUnstarted();
    this.#lease.end();
  }

  async #settle(): Promise<DispatchSummary> {
    const ended = this.#inFlight.filter(isEnded);
    this.#timeouts.stop();
    // From here on the claim runs out: what the store never takes or answers must not be held forever.
    this.#lease.stopExtending();
    const retryForMs = (): number => (this.#mayRetrySettle ? this.#lease.remainingMs : 0);
    try {
      const isOurs = stillOurs(ended, await settleBatch(this.#target, ended, retryForMs));
      for (const flight of ended) flight.phase = 'settled';
      const summary = summarise(this.rows.length, ended, isOurs);
      emitEnds(this.#target.events, ended, isOurs);
      this.#target.events.emit('batch', summary);
      return summary;
    } catch (error) {
      const saved = new Set(await settlePublished(this.#target, ended));
      for (const flight of ended) if (saved.has(flight.id)) flight.phase = 'settled';
      throw error;
    } finally {
      this.#lease.end();
    }
  }
}
