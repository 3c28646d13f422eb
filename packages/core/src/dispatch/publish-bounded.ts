import { TransientError } from '../message/errors.js';
import type { PublishContext } from '../message/publish-context.js';
import type { Clock } from '../runtime/timing.js';
import type { ClaimLease } from './claim-lease.js';
import type { RowInFlight } from './rows-in-flight.js';

/** The limits on the publishes of one batch: their claims, their time, and their number. */
export interface PublishBounds {
  readonly lease: ClaimLease;
  readonly timeouts: PublishTimeouts;
  /** Shared by all batches. */
  readonly slots: PublishSlots;
}

/** How a publish ended. `keepsSlot`: the publisher is still running, and the slot is released when it ends. */
export type PublishEnd<T> =
  | { readonly published: true; readonly value: T; readonly keepsSlot: false }
  | { readonly published: false; readonly error: unknown; readonly keepsSlot: boolean };

/**
 * Publishes rows in one call. Resolves at the latest when the publish times out or the claims on all rows are lost. A
 * publisher that keeps running after its signal aborted keeps its slot until it ends. Never rejects.
 */
export function publishBounded<T>(
  rows: readonly [RowInFlight, ...RowInFlight[]],
  publish: (context: PublishContext) => Promise<T>,
  bounds: PublishBounds,
): Promise<PublishEnd<T>> {
  const { lease, timeouts, slots } = bounds;
  const context = new LazyPublishContext(rows[0].row.attempts + 1);
  return new Promise((resolve) => {
    let endOverrun: (() => void) | undefined;
    const giveUp = (error: Error): void => {
      timeouts.end(running);
      lease.publishEnded(rows);
      endOverrun = slots.overrun(rows.map(({ id }) => id));
      context.abort(error);
      resolve({ published: false, error, keepsSlot: true });
    };
    const running = timeouts.start(() =>
      giveUp(new TransientError(`publish took longer than ${timeouts.timeoutMs} ms`)),
    );
    lease.publishStarted(rows, giveUp);
    const end = (result: PublishEnd<T>): void => {
      if (endOverrun) {
        endOverrun();
        return;
      }
      timeouts.end(running);
      lease.publishEnded(rows);
      resolve(result);
    };
    call(publish, context).then(
      (value) => end({ published: true, value, keepsSlot: false }),
      (error: unknown) => end({ published: false, error, keepsSlot: false }),
    );
  });
}

/** A publisher that throws synchronously fails its own rows only. */
function call<T>(publish: (context: PublishContext) => Promise<T>, context: PublishContext): Promise<T> {
  try {
    return Promise.resolve(publish(context));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Creates the signal on demand: most publishers never read it. */
class LazyPublishContext implements PublishContext {
  readonly attempt: number;
  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortedBy && !this.#controller.signal.aborted) this.#controller.abort(this.#abortedBy);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
  }
}

interface RunningPublish {
  readonly dueMs: number;
  readonly giveUp: () => void;
}

/**
 * Times out the publishes of one batch. They share one timer, because they have the same timeout and the one that
 * started first is due first. A timer for each would take about a fifth of the dispatcher's own time.
 */
export class PublishTimeouts {
  readonly #clock: Clock;
  readonly timeoutMs: number;
  readonly #running = new Set<RunningPublish>();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
  }

  start(giveUp: () => void): RunningPublish {
    const publish = { dueMs: this.#clock.monotonicMs() + this.timeoutMs, giveUp };
    this.#running.add(publish);
    this.#cancelTimer ??= this.#clock.schedule(this.timeoutMs, () => this.#check());
    return publish;
  }

  end(publish: RunningPublish): void {
    this.#running.delete(publish);
  }

  /** Call it at the end of the batch. No timer remains. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #check(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const publish of this.#running) {
      if (publish.dueMs > nowMs) {
        this.#cancelTimer = this.#clock.schedule(publish.dueMs - nowMs, () => this.#check());
        return;
      }
      this.#running.delete(publish);
      publish.giveUp();
    }
  }
}

/**
 * Limits concurrent publishes. A publish that timed out but is still running keeps its slot; otherwise a publisher that
 * ignores its signal could pile up calls without limit.
 */
export class PublishSlots {
  readonly #size: number;
  readonly #clock: Clock;
  /** The ids of each publish that was aborted and is still running. */
  readonly #overruns = new Set<readonly string[]>();
  readonly #waiting: Array<(granted: boolean) => void> = [];
  #taken = 0;
  #overdue = 0;
  #isClosed = false;

  constructor(size: number, clock: Clock) {
    this.#size = size;
    this.#clock = clock;
  }

  /** Ids of rows whose publish was aborted and is still running. They may still be delivered. */
  get overrunIds(): string[] {
    return [...this.#overruns].flat();
  }

  /** Whether every slot is held by a publish that was aborted and did not end at once. */
  get stuck(): boolean {
    return this.#overdue === this.#size;
  }

  /** Takes a slot, waiting for one if necessary. False if all slots are stuck or the slots are closed. */
  acquire(): boolean | Promise<boolean> {
    if (this.stuck || this.#isClosed) return false;
    if (this.#taken < this.#size) {
      this.#taken += 1;
      return true;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const grant = this.#waiting.shift();
    if (grant) grant(true);
    else this.#taken -= 1;
  }

  /**
   * The publish of these rows was aborted and keeps its slot until the returned function is called. It is overdue unless
   * it obeys its signal at once.
   */
  overrun(ids: readonly string[]): () => void {
    this.#overruns.add(ids);
    let isOverdue = false;
    const cancel = this.#clock.schedule(0, () => {
      isOverdue = true;
      this.#overdue += 1;
      if (this.stuck) this.#refuseAll();
    });
    return () => {
      cancel();
      this.#overruns.delete(ids);
      if (isOverdue) this.#overdue -= 1;
      this.release();
    };
  }

  /** Refuses slots until `open` is called. Running publishes continue. */
  close(): void {
    this.#isClosed = true;
    this.#refuseAll();
  }

  open(): void {
    this.#isClosed = false;
  }

  #refuseAll(): void {
    for (const refuse of this.#waiting.splice(0)) refuse(false);
  }
}
