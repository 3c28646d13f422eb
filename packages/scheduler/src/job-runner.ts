import type { Clock, JobLock } from '@postcommit/core';
import { endsWithin, type HeldLock, systemClock } from '@postcommit/core/internal';
import { JobLease } from './job-lease.js';
import type { JobContext, ScheduledJob } from './scheduled-job.js';
import { type SchedulerEventMap, type SchedulerEventName, SchedulerEvents } from './scheduler-events.js';

export interface JobRunnerOptions {
  readonly events?: SchedulerEvents | undefined;
  /** Without one, every instance runs the job; it only never overlaps with itself in this process. */
  readonly lock?: JobLock | undefined;
  /** For tests. */
  readonly clock?: Clock;
}

export interface Tick {
  readonly scheduledAt: Date;
  /** Milliseconds since `scheduledAt`. */
  ageMs(): number;
  /** Milliseconds until the tick after the next one. */
  msToTickAfterNext(): number;
}

interface Run {
  readonly tick: Tick;
  readonly controller: AbortController;
  lease?: JobLease;
  ended: Promise<void>;
}

/**
 * Runs a job at each tick: one run at a time, and one instance of all for each tick.
 *
 * Releasing the lock when the job ends would not be enough. The timer of another instance fires some milliseconds later,
 * or much later if its host's clock is behind. A quick job has ended by then, the lock would be free, and the tick would
 * run twice. So the lock is held until the tick after the next one, but no longer than its TTL, by the database's clock.
 * The instance that holds it reuses it at its next tick. A frequent job therefore stays with one instance; when that
 * instance goes away, another takes over within two ticks (or within the TTL, if it crashed while the job ran). A rare
 * job finds its lock free, and any instance may win.
 *
 * The price: a tick runs twice if clocks differ by more than one period of the schedule or by more than the TTL,
 * whichever is less. A lock named after the tick's time would tolerate any difference, but it would leave a row behind
 * for every tick, and a slow job could overlap with its next tick on another instance.
 */
export class JobRunner {
  readonly #job: ScheduledJob;
  readonly #events: SchedulerEvents;
  readonly #lock: JobLock | undefined;
  readonly #clock: Clock;
  #held: HeldLock | undefined;
  #run: Run | undefined;
  #lastTickMs: number | undefined;

  constructor(job: ScheduledJob, options: JobRunnerOptions = {}) {
    this.#job = job;
    this.#events = options.events ?? new SchedulerEvents();
    this.#lock = options.lock;
    this.#clock = options.clock ?? systemClock;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** Resolves when the tick has run or was skipped; never rejects. */
  tick(tick: Tick): Promise<void> {
    const reason = this.#reasonToSkip(tick);
    if (reason) {
      this.#emit('skipped', tick, { reason });
      return Promise.resolve();
    }
    this.#lastTickMs = tick.scheduledAt.getTime();
    const run: Run = { tick, controller: new AbortController(), ended: Promise.resolve() };
    this.#run = run;
    run.ended = this.#perform(run).finally(() => {
      this.#run = undefined;
    });
    return run.ended;
  }

  /** Aborts the current run and waits up to `graceMs` for it to end. Leaves no timer behind. */
  async stop(graceMs: number): Promise<void> {
    const run = this.#run;
    if (!run) return;
    run.controller.abort(new Error(`scheduled job '${this.#job.name}': the scheduler is stopping`));
    if (await endsWithin(graceMs, run.ended, this.#clock)) return;
    // The job may still do what the lock protects, so other instances wait until it expires.
    run.lease?.abandon();
    this.#emit('abandoned', run.tick, {});
  }

  #reasonToSkip({ scheduledAt }: Tick): 'running' | 'repeated' | undefined {
    if (this.#run) return 'running';
    return scheduledAt.getTime() === this.#lastTickMs ? 'repeated' : undefined;
  }

  async #perform(run: Run): Promise<void> {
    const startedAtMs = this.#clock.monotonicMs();
    try {
      const reason = await this.#acquireLock(run);
      if (reason) return this.#emit('skipped', run.tick, { reason });
      await this.#execute(run);
      this.#emit('finished', run.tick, { durationMs: Math.round(this.#clock.monotonicMs() - startedAtMs) });
    } catch (error) {
      this.#emitFailure(run, error);
    } finally {
      await run.lease?.keepFor(this.#holdMs(run.tick));
    }
  }

  async #execute({ tick, controller }: Run): Promise<void> {
    const { signal } = controller;
    // The scheduler may have been stopped while the lock was being acquired.
    signal.throwIfAborted();
    const context: JobContext = { signal, scheduledAt: tick.scheduledAt };
    await this.#job.execute(context);
  }

  /** Acquires the lock, or returns the reason to skip the tick. */
  async #acquireLock(run: Run): Promise<'locked' | 'late' | undefined> {
    const ttlMs = this.#job.lockTtlMs;
    if (!this.#lock || ttlMs === undefined) return undefined;
    const sentAtMs = this.#clock.monotonicMs();
    if (!(await this.#held?.renew(ttlMs))) this.#held = await this.#lock.acquire(this.#job.name, ttlMs);
    if (!this.#held) return 'locked';
    run.lease = new JobLease(this.#held, {
      ttlMs,
      sentAtMs,
      clock: this.#clock,
      onLost: (error) => this.#lose(run, error),
    });
    // After a pause of this process the lock proves nothing: another instance may have run the tick and its lock expired.
    return run.tick.ageMs() < ttlMs ? undefined : 'late';
  }

  #lose({ controller, tick }: Run, error: Error): void {
    this.#held = undefined;
    controller.abort(error);
    this.#emit('lockLost', tick, { error });
  }

  #holdMs(tick: Tick): number {
    return Math.min(this.#job.lockTtlMs ?? 0, tick.msToTickAfterNext());
  }

  #emitFailure({ tick, controller: { signal } }: Run, error: unknown): void {
    if (signal.aborted && isCausedBy(error, signal.reason))
      this.#emit('interrupted', tick, { reason: signal.reason });
    else this.#emit('failed', tick, { error });
  }

  #emit<Name extends SchedulerEventName>(
    name: Name,
    { scheduledAt }: Tick,
    details: Omit<SchedulerEventMap[Name], 'job' | 'scheduledAt'>,
  ): void {
    const event = { job: this.#job.name, scheduledAt, ...details } as SchedulerEventMap[Name];
    this.#events.emit(name, event);
  }
}

/** `fetch` rejects with the reason itself; Node's own functions reject with an `AbortError` whose cause it is. */
function isCausedBy(error: unknown, reason: unknown): boolean {
  return error === reason || (error instanceof Error && error.cause === reason);
}
