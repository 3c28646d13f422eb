import type { ClaimedBatch } from '../dispatch/claimed-batch.js';
import type { DispatchEngine } from '../dispatch/dispatch-engine.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import { InFlightBudget } from './in-flight-budget.js';
import { Inbox } from './inbox.js';
import { type HintTime, PollPace, type PollResult } from './poll-pace.js';
import type { StoreTrouble } from './store-trouble.js';
import type { WorkerConfig } from './worker-config.js';

export interface WorkerRunOptions {
  readonly engine: DispatchEngine;
  readonly config: WorkerConfig;
  readonly trouble: StoreTrouble;
  readonly events: DispatchEvents;
  readonly clock: Clock;
}

/** Everything that can happen during a run. */
type WorkerEvent =
  | { readonly kind: 'hint'; readonly time: HintTime }
  | { readonly kind: 'timer' }
  | { readonly kind: 'claimed'; readonly batch: ClaimedBatch | undefined; readonly limit: number }
  | { readonly kind: 'claimFailed'; readonly error: unknown }
  | {
      readonly kind: 'batchEnded';
      readonly batch: ClaimedBatch;
      readonly summary: DispatchSummary | undefined;
    }
  | { readonly kind: 'stop'; readonly graceMs: number; readonly unsubscribed: Promise<void> }
  | { readonly kind: 'unstartedReleased' }
  | { readonly kind: 'lateClaimsReleased' }
  | { readonly kind: 'graceOver'; readonly graceMs: number }
  | { readonly kind: 'settleGraceOver' };

/**
 * While running, claims are sent. A stop then goes through three phases: `releasing` rows that have not started,
 * `draining` the batches in flight, and `closing`, which waits until claims that were answered late are released.
 */
type RunPhase = 'running' | 'releasing' | 'draining' | 'closing' | 'over';

/** How long a stop waits for outcomes to be recorded after the grace period for publishing is over. */
const SETTLE_GRACE_MS = 5_000;

/**
 * One run of the worker, from start to stop: a loop over its inbox. Only the loop changes the state: `#claimIfDue`
 * sends claims, and `#on` handles events. At most one claim is under way. The batch it returns is published
 * concurrently with the loop, and its end is posted to the inbox.
 */
export class WorkerRun {
  readonly #options: WorkerRunOptions;
  readonly #inbox = new Inbox<WorkerEvent>();
  readonly #pace: PollPace;
  readonly #budget: InFlightBudget;
  /** Batches in flight, each with a promise that resolves when it has ended and never rejects. */
  readonly #batches = new Map<ClaimedBatch, Promise<void>>();
  /** Batches that were in flight when the stop began, or were claimed after that. */
  readonly #leftAtStop = new Set<ClaimedBatch>();
  readonly #ended: Promise<void>;
  #phase: RunPhase = 'running';
  #isClaiming = false;
  /** Whether to send a claim as soon as there is room for its rows. */
  #isClaimDue = true;
  #cancelTimer: () => void = () => {};

  constructor(options: WorkerRunOptions) {
    this.#options = options;
    this.#pace = new PollPace(options.config.pollIntervalMs);
    this.#budget = new InFlightBudget(options.config.maxBytesInFlight);
    options.engine.open();
    this.#ended = this.#loop();
  }

  get rowsInFlight(): number {
    return [...this.#batches.keys()].reduce((sum, batch) => sum + batch.rowsInFlight, 0);
  }

  /** Rows may be due: a transaction has committed them or is about to. */
  hint(time: HintTime): void {
    this.#inbox.post({ kind: 'hint', time });
  }

  /**
   * Ends the run, at the latest when both grace periods are over. Returns the ids of rows that may still be claimed or
   * published here. `unsubscribed` resolves when no more hints arrive.
   */
  async stop(graceMs: number, unsubscribed: Promise<void>): Promise<string[]> {
    this.#inbox.post({ kind: 'stop', graceMs, unsubscribed });
    await this.#ended;
    const { engine } = this.#options;
    engine.calls.giveUp(new Error('the worker was stopped'));
    const unresolved = [...this.#leftAtStop].flatMap((batch) => batch.unresolved);
    return [...new Set([...unresolved, ...engine.idsOutsideBatches])];
  }

  async #loop(): Promise<void> {
    while (this.#phase !== 'over') {
      this.#claimIfDue();
      this.#on(await this.#inbox.next());
      if (this.#phase === 'draining' && !this.#isClaiming && this.#batches.size === 0)
        this.#closeLateClaims();
    }
  }

  #on(event: WorkerEvent): void {
    switch (event.kind) {
      case 'hint':
        this.#onHint(event.time);
        break;
      case 'timer':
        // Ignore a timer that fired just before a claim was sent.
        this.#isClaimDue ||= !this.#isClaiming;
        break;
      case 'claimed':
        this.#onClaimed(event.batch, event.limit);
        break;
      case 'claimFailed':
        this.#onClaimFailed(event.error);
        break;
      case 'batchEnded':
        this.#onBatchEnded(event.batch, event.summary);
        break;
      case 'stop':
        this.#onStop(event.graceMs, event.unsubscribed);
        break;
      case 'unstartedReleased':
        this.#phase = 'draining';
        break;
      case 'graceOver':
        this.#onGraceOver(event.graceMs);
        break;
      case 'settleGraceOver':
        for (const batch of this.#batches.keys()) batch.giveUpSettling();
        this.#end();
        break;
      case 'lateClaimsReleased':
        this.#end();
    }
  }

  #claimIfDue(): void {
    if (this.#phase !== 'running' || !this.#isClaimDue || this.#isClaiming) return;
    const limit = this.#room();
    if (limit === 0) return;
    this.#cancelTimer();
    this.#isClaimDue = false;
    this.#isClaiming = true;
    this.#options.engine.claim(limit).then(
      (batch) => this.#inbox.post({ kind: 'claimed', batch, limit }),
      (error: unknown) => this.#inbox.post({ kind: 'claimFailed', error }),
    );
  }

  /** How many rows may be claimed now. */
  #room(): number {
    const { config, engine } = this.#options;
    if (this.#batches.size >= config.batchesInFlight) return 0;
    // A row that may have crashed its process is published alone, so that it takes no other row down with it.
    for (const batch of this.#batches.keys()) if (batch.isSuspect) return 0;
    return this.#budget.room(engine.config.batchSize);
  }

  #onHint(time: HintTime): void {
    const shouldPoll = this.#pace.hint(time);
    // While the store can't be reached, only its retry timer counts.
    if (shouldPoll && !this.#isClaiming && !this.#options.trouble.current) this.#isClaimDue = true;
  }

  #onClaimed(batch: ClaimedBatch | undefined, limit: number): void {
    this.#isClaiming = false;
    this.#options.trouble.answered();
    if (batch) this.#launch(batch, limit);
    // A batch that ended meanwhile may have freed rows that this claim could not see: claim again at once.
    else if (this.#isClaimDue) return;
    if (this.#phase === 'running') this.#claimAfter(this.#pace.afterPoll(resultOf(batch, limit)));
  }

  #onClaimFailed(error: unknown): void {
    this.#isClaiming = false;
    if (this.#phase === 'running') this.#claimAfter(this.#options.trouble.failed(error));
  }

  #launch(batch: ClaimedBatch, limit: number): void {
    const others = batch.isSuspect ? [...this.#batches.values()] : [];
    this.#budget.add(batch.rows);
    if (this.#phase !== 'running') this.#leftAtStop.add(batch);
    this.#batches.set(batch, this.#run(batch, limit, others));
  }

  /** Publishes and settles a batch; a suspect one only after `others` have ended. Never rejects. */
  async #run(batch: ClaimedBatch, limit: number, others: ReadonlyArray<Promise<void>>): Promise<void> {
    let running: Promise<DispatchSummary> | undefined;
    try {
      await Promise.all(others);
      await this.#options.engine.dispatch(limit, () => {
        running = batch.run({ keepTrying: true });
        return running;
      });
    } catch (error) {
      this.#options.events.emit('trouble', { error, retryInMs: 0 });
    }
    // An interceptor may have thrown before it called `next`, or may not have awaited it.
    const [ended] = await Promise.allSettled([running, batch.close()]);
    const summary = ended.status === 'fulfilled' ? ended.value : undefined;
    this.#inbox.post({ kind: 'batchEnded', batch, summary });
  }

  #onBatchEnded(batch: ClaimedBatch, summary: DispatchSummary | undefined): void {
    this.#batches.delete(batch);
    this.#budget.remove(batch.rows);
    const progress = (summary?.dispatched ?? 0) + (summary?.dead ?? 0);
    this.#pace.batchEnded({ madeProgress: progress > 0 });
    // The next rows of its keys can be claimed now, and failed rows may already be due again.
    if (progress > 0 && (batch.hasKeys || progress < batch.rows.length)) this.#isClaimDue = true;
  }

  #claimAfter(waitMs: number): void {
    this.#cancelTimer();
    this.#isClaimDue = waitMs === 0;
    if (waitMs > 0) this.#schedule(waitMs, { kind: 'timer' });
  }

  #onStop(graceMs: number, unsubscribed: Promise<void>): void {
    this.#phase = 'releasing';
    this.#options.engine.close();
    for (const batch of this.#batches.keys()) this.#leftAtStop.add(batch);
    const released = [...this.#leftAtStop].map((batch) => batch.releaseUnstarted());
    void Promise.all([...released, unsubscribed]).then(() => this.#inbox.post({ kind: 'unstartedReleased' }));
    this.#schedule(graceMs, { kind: 'graceOver', graceMs });
  }

  #closeLateClaims(): void {
    this.#phase = 'closing';
    void this.#options.engine
      .lateClaimsReleased()
      .then(() => this.#inbox.post({ kind: 'lateClaimsReleased' }));
  }

  #onGraceOver(graceMs: number): void {
    const reason = new Error(`worker stopping: the ${graceMs} ms grace period is over`);
    for (const batch of this.#batches.keys()) batch.abandonRunning(reason);
    this.#schedule(SETTLE_GRACE_MS, { kind: 'settleGraceOver' });
  }

  /** There is one timer: for the next claim while running, for the grace periods during a stop. */
  #schedule(delayMs: number, event: WorkerEvent): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.schedule(delayMs, () => this.#inbox.post(event));
  }

  #end(): void {
    this.#cancelTimer();
    this.#phase = 'over';
  }
}

/** A claim may leave due rows behind: a suspect row comes alone, and keyed rows get only a share of the batch. */
function resultOf(batch: ClaimedBatch | undefined, limit: number): PollResult {
  if (!batch) return 'nothing';
  return batch.rows.length >= limit || batch.isSuspect || batch.hasKeys ? 'more' : 'all';
}
