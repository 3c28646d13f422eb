import type { Clock } from '../../src/runtime/timing.js';
import type { SimClock } from './sim-clock.js';

/** Why a process is no more: it was killed from outside, or by the row that it published. */
export type CauseOfDeath = { readonly kind: 'killed' } | { readonly kind: 'poisoned'; readonly id: string };

/**
 * One life of a process. What reaches it, be it a timer or an answer, comes through `deliver`: nothing while it is
 * frozen (SIGSTOP), and nothing ever after it died. Its monotonic clock continues while it is frozen, as a real one does.
 */
export class SimProcess implements Clock {
  readonly name: string;
  readonly bornMs: number;
  readonly #clock: SimClock;
  /** Monotonic clocks begin anywhere. */
  readonly #offsetMs: number;
  readonly #mail: Array<() => void> = [];
  readonly #timers = new Set<symbol>();
  #isFrozen = false;
  #death: CauseOfDeath | undefined;
  /** The last moment at which something went wrong for it that may cost it a claim. */
  #troubledMs = Number.NEGATIVE_INFINITY;
  #frozenMs = Number.NEGATIVE_INFINITY;
  /** When its worker was asked to stop, if it was not started again. */
  stopToldMs: number | undefined;
  /** Its worker said that it has ended. */
  isStopped = false;

  constructor(name: string, clock: SimClock, offsetMs: number) {
    this.name = name;
    this.#clock = clock;
    this.#offsetMs = offsetMs;
    this.bornMs = clock.elapsedMs;
  }

  get isDead(): boolean {
    return this.#death !== undefined;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  get death(): CauseOfDeath | undefined {
    return this.#death;
  }

  get isStopping(): boolean {
    return this.stopToldMs !== undefined;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Whether it had no trouble with its store and was not frozen since `ms`. */
  wasWellSince(ms: number): boolean {
    return !this.isDead && !this.#isFrozen && this.#troubledMs < ms;
  }

  wasAwakeSince(ms: number): boolean {
    return !this.isDead && !this.#isFrozen && this.#frozenMs < ms;
  }

  troubled(): void {
    this.#troubledMs = this.#clock.elapsedMs;
  }

  monotonicMs(): number {
    return this.#offsetMs + this.#clock.elapsedMs;
  }

  now(): number {
    return this.#clock.now();
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const timer = Symbol('timer');
    this.#timers.add(timer);
    const cancel = this.#clock.schedule(delayMs, () =>
      this.deliver(() => {
        if (this.#timers.delete(timer)) callback();
      }),
    );
    return () => {
      this.#timers.delete(timer);
      cancel();
    };
  }

  deliver(callback: () => void): void {
    if (this.isDead) return;
    if (this.#isFrozen) this.#mail.push(callback);
    else callback();
  }

  die(cause: CauseOfDeath): void {
    this.#death ??= cause;
    this.#mail.length = 0;
    this.#timers.clear();
  }

  freeze(): void {
    this.#isFrozen = true;
    this.#frozenMs = this.#clock.elapsedMs;
    this.troubled();
  }

  thaw(): void {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    this.#frozenMs = this.#clock.elapsedMs;
    this.troubled();
    // One after another, each with the promises that follow from it, as an event loop would.
    for (const callback of this.#mail.splice(0)) this.#clock.schedule(0, () => this.deliver(callback));
  }
}
