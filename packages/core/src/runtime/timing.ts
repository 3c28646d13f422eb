import { errorText } from '../message/error-text.js';

/** The process's own clock, for deadlines and timers. Times stored in rows come from the database's clock. */
export interface Clock {
  /** Milliseconds that never decrease. Only differences are meaningful. */
  monotonicMs(): number;
  /** Milliseconds since 1970. Only compared with the monotonic clock, to notice that the host was suspended. */
  now(): number;
  /** Calls back once after `delayMs`. Returns a function that cancels it. */
  schedule(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  now: () => Date.now(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** The system clock, with timers that don't keep the process alive: a pending hint must not delay its exit. */
export const backgroundClock: Clock = {
  monotonicMs: systemClock.monotonicMs,
  now: systemClock.now,
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

/** Returns whether `work` ends within `limitMs`. Rejects if `work` fails before that. */
export async function endsWithin(limitMs: number, work: Promise<unknown>, clock: Clock): Promise<boolean> {
  let cancel: () => void = () => {};
  const timeIsUp = new Promise<false>((resolve) => {
    cancel = clock.schedule(limitMs, () => resolve(false));
  });
  try {
    return await Promise.race([work.then(() => true), timeIsUp]);
  } finally {
    cancel();
  }
}

/**
 * Waits for calls, each for a limited time, until somebody gives up. The call itself can't be cancelled and may still
 * complete later: on a connection that was cut without a TCP reset, a query can hang for many minutes.
 */
export class BoundedWaits {
  readonly #clock: Clock;
  readonly #late: (what: string, limitMs: number) => Error;
  /** When each pending wait began, oldest first. */
  readonly #waiting = new Map<(reason: unknown) => void, number>();

  /** `late` is the error for a call that takes too long. */
  constructor(clock: Clock, late: (what: string, limitMs: number) => Error) {
    this.#clock = clock;
    this.#late = late;
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  /** How long the oldest pending call has been unanswered; 0 if there is none. */
  get longestWaitMs(): number {
    const [oldestMs] = this.#waiting.values();
    return oldestMs === undefined ? 0 : this.#clock.monotonicMs() - oldestMs;
  }

  /** Resolves as `call` does. Rejects after `limitMs`, or when `giveUp` is called. `what` names the call in the error. */
  within<T>(limitMs: number, what: string, call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.schedule(limitMs, () => giveUp(this.#late(what, limitMs)));
      const end = (): void => {
        cancel();
        this.#waiting.delete(giveUp);
      };
      const giveUp = (reason: unknown): void => {
        end();
        reject(reason);
      };
      this.#waiting.set(giveUp, this.#clock.monotonicMs());
      call.finally(end).then(resolve, reject);
    });
  }

  /** Rejects every pending wait. No timer remains. */
  giveUp(reason: unknown): void {
    for (const giveUp of [...this.#waiting.keys()]) giveUp(reason);
  }
}

export interface LeaseOptions {
  readonly ttlMs: number;
  /** The time just before the lease was requested. */
  readonly sentAtMs: number;
  readonly clock: Clock;
  /** Resolves to whether there is still something to hold. A rejection is not the end: the next renewal tries again. */
  readonly renew: () => Promise<boolean>;
  /** Called once if no renewal succeeds in time. `why` is empty or ends the sentence "it could not be renewed". */
  readonly onExpired: (why: string, cause: unknown) => void;
}

/** Three renewals per lease: two may fail before it is lost. */
export function renewalIntervalMs(ttlMs: number): number {
  return ttlMs / 3;
}

/**
 * A right that is kept by renewing it: a claim or a lock. Its deadline is counted on the process's own clock, from before
 * each request was sent, so it always passes before the database's does.
 */
export class Lease {
  readonly #options: LeaseOptions;
  #deadlineMs: number;
  #lastFailure: unknown;
  #renewing: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #cancelRenewal: () => void;
  #cancelDeadline: () => void;

  constructor(options: LeaseOptions) {
    const { clock, sentAtMs, ttlMs } = options;
    this.#options = options;
    this.#deadlineMs = sentAtMs + ttlMs;
    // Also counted from sending: a lease that was granted late could otherwise expire before its first renewal.
    this.#cancelRenewal = this.#scheduleRenewal(clock.monotonicMs() - sentAtMs);
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  /** Time until it expires, by the process's own clock. */
  get remainingMs(): number {
    return this.#deadlineMs - this.#options.clock.monotonicMs();
  }

  /** Lets it expire. Resolves when no renewal is under way. */
  async stopRenewing(): Promise<void> {
    this.#cancelRenewal();
    await this.#renewing;
  }

  /** Leaves no timer behind. */
  end(): void {
    this.#isOver = true;
    this.#cancelRenewal();
    this.#cancelDeadline();
  }

  #scheduleRenewal(elapsedMs = 0): () => void {
    const { clock, ttlMs } = this.#options;
    return clock.schedule(Math.max(0, renewalIntervalMs(ttlMs) - elapsedMs), () => {
      this.#cancelRenewal = this.#scheduleRenewal();
      this.#renewing = Promise.all([this.#renewing, this.#renew()]);
    });
  }

  #scheduleDeadline(): () => void {
    return this.#options.clock.schedule(this.remainingMs, () => this.#expire());
  }

  async #renew(): Promise<void> {
    const { clock, renew, ttlMs } = this.#options;
    const sentAtMs = clock.monotonicMs();
    try {
      if (await renew()) this.#extend(sentAtMs + ttlMs);
    } catch (error) {
      // The next renewal tries again; if none succeeds, the expiry reports this error.
      this.#lastFailure = error;
    }
  }

  #extend(deadlineMs: number): void {
    // An older answer may arrive after a newer one, and must not move the deadline back.
    if (this.#isOver || deadlineMs <= this.#deadlineMs) return;
    this.#cancelDeadline();
    this.#deadlineMs = deadlineMs;
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  #expire(): void {
    const why = this.#lastFailure === undefined ? '' : `: ${errorText(this.#lastFailure)}`;
    this.#options.onExpired(why, this.#lastFailure);
  }
}
