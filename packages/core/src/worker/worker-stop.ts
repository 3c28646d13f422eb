import type { ClaimedBatch } from '../dispatch/claimed-batch.js';
import type { DispatchEngine } from '../dispatch/dispatch-engine.js';
import type { StopEvent, StopProgress } from './worker-event.js';

/** How long a stop waits for outcomes to be recorded after the grace period for publishing is over. */
const SETTLE_GRACE_MS = 5_000;

/**
 * A stop releases the rows that have not started, then drains the batches in flight, and finally closes: it waits until
 * claims that were answered late are released.
 */
type StopPhase = 'releasing' | 'draining' | 'closing' | 'over';

export interface WorkerStopOptions extends Omit<StopEvent, 'kind'> {
  readonly engine: DispatchEngine;
  readonly inFlight: readonly ClaimedBatch[];
  /** Both deliver their event to `on`; a new timer replaces the one before. */
  readonly post: (event: StopProgress) => void;
  readonly schedule: (delayMs: number, event: StopProgress) => void;
}

/** The end of a worker's run. Only the loop of the run calls it. */
export class WorkerStop {
  readonly #options: WorkerStopOptions;
  /** Batches that were in flight when the stop began, or were claimed after that. */
  readonly #batches: Set<ClaimedBatch>;
  #phase: StopPhase = 'releasing';

  constructor(options: WorkerStopOptions) {
    this.#options = options;
    this.#batches = new Set(options.inFlight);
    const { engine, graceMs, unsubscribed, post, schedule } = options;
    engine.close();
    const released = options.inFlight.map((batch) => batch.releaseUnstarted());
    void Promise.all([...released, unsubscribed]).then(() => post({ kind: 'unstartedReleased' }));
    schedule(graceMs, { kind: 'graceOver' });
  }

  get isOver(): boolean {
    return this.#phase === 'over';
  }

  /** A claim that was under way when the stop began has returned a batch. */
  add(batch: ClaimedBatch): void {
    this.#batches.add(batch);
  }

  on({ kind }: StopProgress): void {
    switch (kind) {
      case 'unstartedReleased':
        this.#phase = 'draining';
        break;
      case 'graceOver':
        this.#abandonRunning();
        break;
      case 'settleGraceOver':
        for (const batch of this.#batches) batch.giveUpSettling();
        this.#phase = 'over';
        break;
      case 'lateClaimsReleased':
        this.#phase = 'over';
    }
  }

  /** No claim is under way and no batch in flight. */
  drained(): void {
    if (this.#phase !== 'draining') return;
    this.#phase = 'closing';
    const { engine, post } = this.#options;
    void engine.lateClaimsReleased().then(() => post({ kind: 'lateClaimsReleased' }));
  }

  /** Returns the ids of rows that may still be claimed or published here. Call it once the stop is over. */
  abandonedIds(): string[] {
    const { engine } = this.#options;
    engine.calls.giveUp(new Error('the worker was stopped'));
    const unresolved = [...this.#batches].flatMap((batch) => batch.unresolved);
    return [...new Set([...unresolved, ...engine.idsOutsideBatches])];
  }

  #abandonRunning(): void {
    const { graceMs, schedule } = this.#options;
    const reason = new Error(`worker stopping: the ${graceMs} ms grace period is over`);
    for (const batch of this.#batches) batch.abandonRunning(reason);
    schedule(SETTLE_GRACE_MS, { kind: 'settleGraceOver' });
  }
}
