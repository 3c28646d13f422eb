import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClaimGrant } from '../dispatch/dispatch-engine.js';
import type { Random } from '../message/retry-policy.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import { noAnswer } from '../runtime/store-calls.js';
import { BoundedWaits, type Clock } from '../runtime/timing.js';
import { type OutboxWorkers, tokenPrefix, type WorkerReport } from '../store/outbox-workers.js';
import { isCrowd } from './claim-pace.js';
import { Takeovers } from './takeovers.js';
import { VERSION } from './version.js';
import { HEARTBEAT_MS, takeoverMs } from './worker-watch.js';

/** Of a crowd, this many workers react to a hint on average. If none does, the row waits for the crowd's next poll. */
const FEW = 3;

export interface MembershipOptions {
  readonly workers: OutboxWorkers;
  /** Others may take the claims over after they have not heard of this worker for this long. */
  readonly takeoverMs: number;
  readonly events: DispatchEvents;
  readonly clock: Clock;
  readonly report: () => WorkerReport;
  /** The claims of `incarnation` must not be used any more. */
  readonly onLost: (incarnation: Incarnation, reason: Error) => void;
  /** Rows of a lost worker can be claimed. */
  readonly onTakenOver: () => void;
  /** How many workers share the outbox, this one included. */
  readonly onCrowd: (workers: number) => void;
}

/** The options of a worker that decide whether it becomes a member. */
export interface JoinOptions extends Omit<MembershipOptions, 'workers' | 'takeoverMs'> {
  readonly workers: OutboxWorkers | undefined;
  readonly config: { readonly takeoverAfterMs: number | false };
  readonly engine: { readonly config: { readonly publishTimeoutMs: number } };
}

/** Undefined if the store keeps no workers, or if the worker is not to be taken over. */
export function joinWorkers({ workers, config, engine, ...options }: JoinOptions): Membership | undefined {
  if (!workers || config.takeoverAfterMs === false) return undefined;
  const leastMs = takeoverMs(config.takeoverAfterMs, engine.config.publishTimeoutMs);
  return new Membership({ ...options, workers, takeoverMs: leastMs });
}

/**
 * The worker as one of those that share an outbox: it registers before it claims, sends a heartbeat every few seconds,
 * and takes over the claims of workers that have fallen silent.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #calls: BoundedWaits;
  readonly #takeovers: Takeovers;
  #current: Incarnation | undefined;
  /** At most one registration or heartbeat is under way. */
  #asking: Promise<void> | undefined;
  /** The workers that share the outbox, this one included. */
  #crowd = 1;
  #isOver = false;
  #cancelBeat: () => void = () => {};
  #cancelDeadline: () => void = () => {};

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#calls = new BoundedWaits(options.clock, noAnswer);
    this.#takeovers = new Takeovers({ ...options, calls: this.#calls });
  }

  /** The right to claim. Rejects if the store does not confirm it. */
  async grant(): Promise<ClaimGrant> {
    if (!this.#current || this.#current.remainingMs === 0) await this.#ask();
    const incarnation = this.#current;
    if (!incarnation || incarnation.remainingMs === 0)
      throw new Error('the worker could not confirm that it is still registered');
    return { token: incarnation.nextToken(), standing: incarnation };
  }

  /**
   * Whether to react to a hint that every worker receives. In a crowd, a few are enough; if all of them are busy, one
   * of the others polls soon.
   */
  takesHint(random: Random): boolean {
    return !isCrowd(this.#crowd) || random() < FEW / this.#crowd;
  }

  /** If claims remain, so does the record: others find this worker lost and take them over. */
  async leave({ claimsRemain }: { claimsRemain: boolean }): Promise<void> {
    this.#isOver = true;
    this.#calls.giveUp(new Error('the worker was stopped'));
    await this.#asking?.catch(() => {});
    this.#cancelBeat();
    this.#cancelDeadline();
    if (!this.#current || claimsRemain) return;
    const removing = this.#options.workers.remove(this.#current.id);
    // If it fails, others find a record without a worker, and remove it.
    await this.#calls.within(HEARTBEAT_MS, 'remove the worker', removing).catch(() => {});
  }

  /** Registers, or sends a heartbeat. Calls in the meantime wait for the same answer. */
  #ask(): Promise<void> {
    this.#asking ??= (this.#current ? this.#beat(this.#current) : this.#register()).finally(() => {
      this.#asking = undefined;
      if (!this.#isOver) this.#scheduleBeat();
    });
    return this.#asking;
  }

  async #register(): Promise<void> {
    const { workers, takeoverMs, clock, report } = this.#options;
    const incarnation = new Incarnation(takeoverMs, clock);
    const sentAtMs = clock.monotonicMs();
    const identity = {
      id: incarnation.id,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      takeoverMs: Math.round(takeoverMs),
    };
    await this.#calls.within(HEARTBEAT_MS, 'register the worker', workers.register(identity, report()));
    incarnation.acknowledged(sentAtMs);
    this.#current = incarnation;
    this.#watchDeadline(incarnation);
  }

  async #beat(incarnation: Incarnation): Promise<void> {
    const { workers, clock, report, events } = this.#options;
    const sentAtMs = clock.monotonicMs();
    try {
      const beating = workers.beat(incarnation.id, report());
      const others = await this.#calls.within(HEARTBEAT_MS, 'heartbeat', beating);
      if (others === undefined) {
        this.#declaredLost(incarnation);
        return await this.#register();
      }
      incarnation.acknowledged(sentAtMs);
      this.#watchDeadline(incarnation);
      this.#crowd = 1 + others.filter(({ isLost }) => !isLost).length;
      this.#options.onCrowd(this.#crowd);
      this.#takeovers.saw(others, sentAtMs, clock.monotonicMs());
    } catch (error) {
      this.#takeovers.watch.forget();
      if (!this.#isOver) events.emit('trouble', { error, retryInMs: HEARTBEAT_MS });
      throw error;
    }
  }

  #scheduleBeat(): void {
    const { clock } = this.#options;
    this.#cancelBeat();
    const overdueInMs = Math.ceil(this.#takeovers.watch.overdueAtMs - clock.monotonicMs());
    const delayMs = Math.min(HEARTBEAT_MS, Math.max(overdueInMs, 1));
    this.#cancelBeat = clock.schedule(delayMs, () => {
      // Without a registration there is nothing to keep alive: the next claim registers.
      if (this.#current) this.#ask().catch(() => {});
    });
  }

  /** Publishes must not go on after the deadline, even if nothing else happens in this process. */
  #watchDeadline(incarnation: Incarnation): void {
    const { clock, takeoverMs } = this.#options;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.schedule(incarnation.remainingMs, () =>
      this.#lose(incarnation, `no heartbeat was answered for ${Math.round(takeoverMs)} ms`),
    );
  }

  #declaredLost(incarnation: Incarnation): void {
    incarnation.lose();
    this.#cancelDeadline();
    this.#current = undefined;
    this.#options.events.emit('declaredLost', { workerId: incarnation.id });
    this.#lose(incarnation, 'other workers had not heard of this one and have taken it over');
  }

  #lose(incarnation: Incarnation, why: string): void {
    this.#options.onLost(incarnation, new Error(`the claims of this worker were lost: ${why}`));
  }
}

/** A wall clock that ran ahead of the monotonic one by more: the host was suspended. */
const SUSPENDED_MS = 5_000;

/**
 * One registration of a worker. The right to publish under its claims lasts for `takeoverMs` from the last heartbeat
 * that was answered, counted from before it was sent: at its end, others may take the claims over.
 */
export class Incarnation {
  /** Without letters that a collation could confuse. */
  readonly id = randomBytes(10).toString('hex');
  readonly takeoverMs: number;
  readonly #clock: Clock;
  readonly #tokenPrefix = tokenPrefix(this.id);
  #counter = 0;
  #deadlineMs = Number.NEGATIVE_INFINITY;
  /** By how much the wall clock was ahead at the last heartbeat. */
  #aheadMs = 0;
  #isLost = false;

  constructor(takeoverMs: number, clock: Clock) {
    this.takeoverMs = takeoverMs;
    this.#clock = clock;
  }

  nextToken(): string {
    this.#counter += 1;
    return this.#tokenPrefix + this.#counter.toString(36);
  }

  /** A heartbeat, or the registration, was answered. */
  acknowledged(sentAtMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, sentAtMs + this.takeoverMs);
    this.#aheadMs = this.#wallAheadMs;
  }

  lose(): void {
    this.#isLost = true;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** How long publishes may be started and go on. */
  get remainingMs(): number {
    if (this.#isLost || this.#wallAheadMs - this.#aheadMs > SUSPENDED_MS) return 0;
    return Math.max(0, this.#deadlineMs - this.#clock.monotonicMs());
  }

  get #wallAheadMs(): number {
    return this.#clock.now() - this.#clock.monotonicMs();
  }
}
