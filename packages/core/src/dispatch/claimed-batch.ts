import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { BatchPublishing, type BatchPublishingOptions } from './batch-publishing.js';
import { type Claim, ClaimLease } from './claim-lease.js';
import { type PublishBounds, PublishTimeouts } from './publish-bounded.js';
import { isEnded, RowInFlight } from './rows-in-flight.js';
import {
  EarlySettles,
  emitOutcomes,
  type SettleTarget,
  settleBatch,
  settlePublished,
  stillOurs,
  summarise,
} from './settle-batch.js';
import type { StoreClock } from './store-clock.js';

/** What a batch needs to be published and settled. */
export interface BatchContext
  extends Omit<BatchPublishingOptions, 'bounds' | 'onEnded' | 'claimedAtMs'>,
    Omit<SettleTarget, 'token'>,
    Pick<PublishBounds, 'slots'> {
  readonly publishTimeoutMs: number;
  /** Undefined if rows can't get too old. */
  readonly storeClock: StoreClock | undefined;
}

/** Rows claimed together: publishes them and settles their outcomes under one claim token. */
export class ClaimedBatch {
  readonly rows: readonly OutboxRow[];
  /** Whether an earlier claim expired: the row may have crashed the process that held it. */
  readonly isSuspect: boolean;
  /** Whether rows have keys. No other row with those keys can be claimed while the batch is in flight. */
  readonly hasKeys: boolean;
  readonly claim: Claim;
  readonly #inFlight: readonly RowInFlight[];
  readonly #target: SettleTarget;
  readonly #lease: ClaimLease;
  readonly #settledEarly: EarlySettles;
  readonly #timeouts: PublishTimeouts;
  readonly #publishing: BatchPublishing;
  /** Undefined until the batch is run. */
  #retrySettleForMs: number | undefined;

  constructor(context: BatchContext, claim: Claim, rows: readonly OutboxRow[]) {
    const { store, calls, clock, slots, publishTimeoutMs } = context;
    this.claim = claim;
    this.rows = rows;
    this.isSuspect = rows.some(({ retakes }) => retakes > 0);
    this.hasKeys = rows.some(({ key }) => key !== undefined);
    this.#inFlight = rows.map((row) => new RowInFlight(row, claim.overLimit?.has(row)));
    this.#target = { ...context, token: claim.token };
    this.#lease = new ClaimLease(store, calls, claim, this.#inFlight, clock);
    this.#timeouts = new PublishTimeouts(clock, publishTimeoutMs);
    this.#settledEarly = new EarlySettles(this.#inFlight, this.#target, this.#lease);
    const bounds = { lease: this.#lease, timeouts: this.#timeouts, slots };
    const onEnded = (): void => this.#settledEarly.rowEnded();
    const claimedAtMs = context.storeClock?.now();
    this.#publishing = new BatchPublishing(this.#inFlight, { ...context, bounds, claimedAtMs, onEnded });
  }

  /**
   * Publishes every row and records the outcomes. A failed settle is retried for `retrySettleForMs`, at most until the
   * claim expires, so that published rows are not published again.
   */
  async run({ retrySettleForMs = Number.POSITIVE_INFINITY } = {}): Promise<DispatchSummary> {
    this.#retrySettleForMs = retrySettleForMs;
    let summary: DispatchSummary;
    try {
      await this.#publishing.run();
    } finally {
      // After a crash before this line the batch is published again. It is never lost.
      summary = await this.#settle();
    }
    return summary;
  }

  /** Rows claimed here that are neither settled nor released. */
  get rowsInFlight(): number {
    return this.#inFlight.filter(({ phase }) => phase !== 'returning' && phase !== 'settled').length;
  }

  /** Ids of rows that we may still hold a claim on, because nothing was recorded for them. */
  get unresolved(): string[] {
    return this.#inFlight.filter(({ phase }) => phase !== 'settled').map(({ id }) => id);
  }

  /** Starts no more rows, and releases those that have not started at once. Never rejects. */
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
      // The store can't be reached. The claims will expire.
    }
  }

  /** Aborts running publishes and records nothing for them: their claims expire and are never released. */
  abandonRunning(reason: Error): void {
    for (const flight of this.#inFlight) if (flight.phase === 'publishing') flight.phase = 'abandoned';
    this.#lease.abortAll(reason);
  }

  /**
   * Others may take its rows over. Aborts running publishes and starts no more. Outcomes are still recorded, for rows
   * that nobody has taken.
   */
  lose(reason: Error): void {
    this.#lease.lose(reason);
  }

  /** Stops retrying a failed settle. */
  giveUpSettling(): void {
    this.#retrySettleForMs = 0;
    this.#lease.end();
  }

  /** Releases every row of a batch that was never run; otherwise does nothing. */
  async close(): Promise<void> {
    if (this.#retrySettleForMs !== undefined) return;
    await this.releaseUnstarted();
    this.#lease.end();
  }

  async #settle(): Promise<DispatchSummary> {
    this.#timeouts.stop();
    // Let the claim expire from here on: a settle that the store never answers must not hold rows forever.
    this.#lease.stopExtending();
    const early = await this.#settledEarly.finished();
    const ended = this.#inFlight.filter(isEnded);
    const { clock } = this.#target;
    const startedAtMs = clock.monotonicMs();
    const retryForMs = (): number =>
      Math.min(this.#lease.remainingMs, (this.#retrySettleForMs ?? 0) - (clock.monotonicMs() - startedAtMs));
    try {
      const settled = await settleBatch(this.#target, ended, retryForMs);
      for (const flight of ended) flight.phase = 'settled';
      const all = [...early.rows, ...ended];
      const isOurs = stillOurs(all, [...early.settled, ...settled]);
      const summary = summarise(this.rows.length, all, isOurs);
      emitOutcomes(this.#target.events, all, isOurs);
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
