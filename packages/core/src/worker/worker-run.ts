import type { ClaimedBatch } from '../dispatch/claimed-batch.js';
import type { DispatchEngine } from '../dispatch/dispatch-engine.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { Random } from '../message/retry-policy.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';
import { Inbox } from '../runtime/typed-events.js';
import type { LookAhead } from '../store/look-ahead.js';
import type { OutboxWorkers } from '../store/outbox-workers.js';
import { type HintTime, NextDue, PollPace, type PollResult, type StoreTrouble } from './claim-pace.js';
import { InFlightBudget } from './in-flight-budget.js';
import { joinWorkers, type Membership } from './membership.js';
import type { WorkerConfig } from './worker-config.js';
import type { StopEvent, WorkerEvent } from './worker-event.js';
import { WorkerStop } from './worker-stop.js';

export interface WorkerRunOptions {
  readonly engine: DispatchEngine;
  readonly config: WorkerConfig;
  readonly trouble: StoreTrouble;
  readonly events: DispatchEvents;
  readonly clock: Clock;
  readonly random: Random;
  /** How the worker knows of others, and they of it. Without it, claims of a worker that died have to expire. */
  readonly workers: OutboxWorkers | undefined;
  readonly isListening: () => boolean;
}

/**
 * One run of the worker, from start to stop: a loop over its inbox. Only the loop changes the state: `#claimIfDue`
 * sends claims, and `#on` handles events. At most one claim is under way. The batch it returns is published
 * concurrently with the loop, and its end is posted to the inbox. So is the answer to when the next row falls due.
 */
export class WorkerRun {
  readonly #options: WorkerRunOptions;
  readonly #inbox = new Inbox<WorkerEvent>();
  readonly #pace: PollPace;
  readonly #nextDue: NextDue;
  readonly #budget: InFlightBudget;
  readonly #membership: Membership | undefined;
  /** Batches in flight, each with a promise that resolves when it has ended and never rejects. */
  readonly #batches = new Map<ClaimedBatch, Promise<void>>();
  #ended: Promise<void> = Promise.resolve();
  #stop: WorkerStop | undefined;
  #isClaiming = false;
  /** Whether to send a claim as soon as there is room for its rows. */
  #isClaimDue = true;
  /** Whether the claim waits because nothing can be published. */
  #isHeld = false;
  /** When the timer for the next claim fires. */
  #wakeAtMs = 0;
  #cancelTimer: () => void = () => {};

  constructor(options: WorkerRunOptions) {
    this.#options = options;
    this.#pace = new PollPace(options.config.pollIntervalMs);
    this.#nextDue = new NextDue(options.clock, options.config.pollIntervalMs);
    this.#budget = new InFlightBudget(options.config.maxBytesInFlight);
    this.#membership = this.#join();
  }

  start(): void {
    this.#options.engine.open();
    this.#ended = this.#loop();
  }

  get rowsInFlight(): number {
    return [...this.#batches.keys()].reduce((sum, batch) => sum + batch.rowsInFlight, 0);
  }

  /** Rows may be due: a transaction has committed them or is about to. */
  hint(time: HintTime): void {
    this.#inbox.post({ kind: 'hint', time });
  }

  /** The same hint, which every listening worker receives. */
  hintToAll(time: HintTime): void {
    if (this.#membership?.takesHint(this.#options.random) !== false) this.hint(time);
  }

  /**
   * Ends the run, at the latest when both grace periods are over. Returns the ids of rows that may still be claimed or
   * published here. `unsubscribed` resolves when no more hints arrive.
   */
  async stop(graceMs: number, unsubscribed: Promise<void>): Promise<string[]> {
    this.#inbox.post({ kind: 'stop', graceMs, unsubscribed });
    await this.#ended;
    const abandoned = this.#stop?.abandonedIds() ?? [];
    await this.#membership?.leave({ claimsRemain: abandoned.length > 0 });
    return abandoned;
  }

  #join(): Membership | undefined {
    const { engine, isListening } = this.#options;
    return joinWorkers({
      ...this.#options,
      report: () => ({
        rowsInFlight: this.rowsInFlight,
        isListening: isListening(),
        outages: engine.availability.outages(),
      }),
      onLost: (standing, reason) => this.#inbox.post({ kind: 'standingLost', standing, reason }),
      onTakenOver: () => this.hint('after-commit'),
      onCrowd: (workers) => {
        engine.availability.sharedBy(workers);
        this.#pace.sharedBy(workers);
      },
    });
  }

  async #loop(): Promise<void> {
    while (!this.#stop?.isOver) {
      this.#claimIfDue();
      this.#on(await this.#inbox.next());
      if (!this.#isClaiming && this.#batches.size === 0) this.#stop?.drained();
    }
    this.#cancelTimer();
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
      case 'lookedAhead':
        this.#onLookedAhead(event.ahead);
        break;
      case 'lookAheadFailed':
        this.#onLookAheadFailed(event.error);
        break;
      case 'standingLost':
        for (const batch of this.#batches.keys())
          if (batch.claim.standing === event.standing) batch.lose(event.reason);
        break;
      case 'batchEnded':
        this.#onBatchEnded(event.batch, event.summary);
        break;
      case 'stop':
        this.#onStop(event);
        break;
      default:
        this.#stop?.on(event);
    }
  }

  #claimIfDue(): void {
    if (this.#stop || !this.#isClaimDue || this.#isClaiming) return;
    const { availability } = this.#options.engine;
    const limit = availability.limit(this.#room());
    if (limit === 0) return;
    this.#isHeld = availability.waitMs > 0;
    if (this.#isHeld) {
      this.#claimAfter(availability.waitMs);
      return;
    }
    this.#cancelTimer();
    this.#isClaimDue = false;
    this.#isClaiming = true;
    this.#claim(limit).then(
      (batch) => this.#inbox.post({ kind: 'claimed', batch, limit }),
      (error: unknown) => this.#inbox.post({ kind: 'claimFailed', error }),
    );
  }

  async #claim(limit: number): Promise<ClaimedBatch | undefined> {
    const { engine } = this.#options;
    if (!this.#membership) return engine.claim(limit);
    return engine.claim(limit, await this.#membership.grant());
  }

  /** How many rows may be claimed now. */
  #room(): number {
    // A row that may have crashed its process is published alone, so that it takes no other row down with it.
    for (const batch of this.#batches.keys()) if (batch.isSuspect) return 0;
    const free = this.#freePlaces;
    return free > 0 ? this.#budget.room(free) : 0;
  }

  /**
   * Rows of the next batch, if bytes don't matter. A small batch takes the places of its rows only: while a destination
   * hangs on a try, or a limited topic is slow, others still have their batches.
   */
  get #freePlaces(): number {
    const { batchesInFlight } = this.#options.config;
    const { batchSize } = this.#options.engine.config;
    const taken = [...this.#batches.keys()].map(({ claim, rows }) =>
      claim.isSmall ? rows.length : batchSize,
    );
    return Math.min(
      batchSize,
      taken.reduce((left, places) => left - places, batchesInFlight * batchSize),
    );
  }

  #onHint(time: HintTime): void {
    this.#nextDue.forget();
    const shouldPoll = this.#pace.hint(time);
    // While the store can't be reached, only its retry timer counts.
    if (shouldPoll && !this.#isClaiming && !this.#options.trouble.current) this.#isClaimDue = true;
  }

  #onClaimed(batch: ClaimedBatch | undefined, limit: number): void {
    this.#isClaiming = false;
    this.#options.trouble.answered();
    this.#nextDue.polled({ foundRows: batch !== undefined });
    if (batch) this.#launch(batch, limit);
    // A batch that ended meanwhile may have freed rows that this claim could not see: claim again at once.
    else if (this.#isClaimDue) return;
    if (this.#stop) return;
    const paceMs = this.#pace.afterPoll(resultOf(batch));
    const waitMs = Math.min(paceMs, this.#options.engine.leftOutWaitMs);
    this.#claimAfter(this.#nextDue.shorten(waitMs));
    if (!batch) this.#lookAhead(waitMs);
  }

  /** The worker can do without the answer: it only shortens a wait. */
  #lookAhead(waitMs: number): void {
    if (!this.#nextDue.isWorthAsking(waitMs)) return;
    this.#nextDue.asked();
    this.#options.engine.lookAhead().then(
      (ahead) => this.#inbox.post({ kind: 'lookedAhead', ahead }),
      (error: unknown) => this.#inbox.post({ kind: 'lookAheadFailed', error }),
    );
  }

  #onLookedAhead({ nextDueInMs }: LookAhead): void {
    const isCurrent = this.#nextDue.answered(nextDueInMs);
    if (!this.#isAsleep) return;
    const restMs = this.#restMs;
    const waitMs = this.#nextDue.shorten(restMs);
    if (waitMs < restMs) this.#claimAfter(waitMs);
    if (!isCurrent) this.#lookAhead(restMs);
  }

  #onLookAheadFailed(error: unknown): void {
    this.#nextDue.answered(undefined);
    if (!this.#stop) this.#options.events.emit('trouble', { error, retryInMs: Math.round(this.#restMs) });
  }

  /** Whether the timer for the next poll runs. A wait for the store, or for a destination, is not shortened. */
  get #isAsleep(): boolean {
    const isWaiting = !this.#isClaiming && !this.#isClaimDue && !this.#isHeld;
    return isWaiting && !this.#stop && !this.#options.trouble.current;
  }

  get #restMs(): number {
    return Math.max(0, this.#wakeAtMs - this.#options.clock.monotonicMs());
  }

  #onClaimFailed(error: unknown): void {
    this.#isClaiming = false;
    if (!this.#stop) this.#claimAfter(this.#options.trouble.failed(error));
  }

  #launch(batch: ClaimedBatch, limit: number): void {
    const others = batch.isSuspect ? [...this.#batches.values()] : [];
    this.#budget.add(batch.rows);
    this.#stop?.add(batch);
    this.#batches.set(batch, this.#run(batch, limit, others));
  }

  /** Publishes and settles a batch; a suspect one only after `others` have ended. Never rejects. */
  async #run(batch: ClaimedBatch, limit: number, others: ReadonlyArray<Promise<void>>): Promise<void> {
    let running: Promise<DispatchSummary> | undefined;
    try {
      await Promise.all(others);
      await this.#options.engine.dispatch(limit, () => {
        running = batch.run();
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
    // That a try failed says nothing about the rows of others.
    if (!batch.claim.isSmall) this.#pace.batchEnded({ madeProgress: progress > 0 });
    const isBack = this.#isHeld && this.#options.engine.availability.waitMs === 0;
    // The next rows of its keys can be claimed now, and failed rows may already be due again.
    const freedRows = progress > 0 && (batch.hasKeys || progress < batch.rows.length);
    if (isBack || freedRows) this.#isClaimDue = true;
    // A failed row may fall due before the worker wakes.
    if (progress === batch.rows.length) return;
    this.#nextDue.forget();
    if (this.#isAsleep) this.#lookAhead(this.#restMs);
  }

  #claimAfter(waitMs: number): void {
    this.#cancelTimer();
    this.#isClaimDue = waitMs === 0;
    this.#wakeAtMs = this.#options.clock.monotonicMs() + waitMs;
    if (waitMs > 0) this.#schedule(waitMs, { kind: 'timer' });
  }

  #onStop({ graceMs, unsubscribed }: StopEvent): void {
    this.#stop = new WorkerStop({
      engine: this.#options.engine,
      inFlight: [...this.#batches.keys()],
      graceMs,
      unsubscribed,
      post: (event) => this.#inbox.post(event),
      schedule: (delayMs, event) => this.#schedule(delayMs, event),
    });
  }

  /** There is one timer: for the next claim while running, for the grace periods during a stop. */
  #schedule(delayMs: number, event: WorkerEvent): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.schedule(delayMs, () => this.#inbox.post(event));
  }
}

/** A claim may leave due rows behind: a suspect row comes alone, and keyed rows get only a share of the batch. */
function resultOf(batch: ClaimedBatch | undefined): PollResult {
  if (!batch) return 'nothing';
  return batch.claim.isFull || batch.isSuspect || batch.hasKeys ? 'more' : 'all';
}
