import { type Clock, type HeldLock, type JobLock, systemClock } from '@postcommit/core';
import { JobLease } from './job-lease.js';
import type { JobContext, ScheduledJob } from './scheduled-job.js';
import { type SchedulerEventMap, type SchedulerEventName, SchedulerEvents } from './scheduler-events.js';

export interface JobRunnerOptions {
  readonly events?: SchedulerEvents | undefined;
  /** Without one a job's lock is this process: it never overlaps with itself, and that is all. */
  readonly lock?: JobLock | undefined;
  /** For tests. */
  readonly clock?: Clock;
}

export interface Tick {
  readonly scheduledAt: Date;
  /** How long ago that is, now. */
  ageMs(): number;
  /** How long until the tick after the next one, now. */
  msToTickAfterNext(): number;
}

interface Run {
  readonly tick: Tick;
  readonly controller: AbortController;
  lease?: JobLease;
  ended: Promise<void>;
}

/**
 * What happens at a tick, whoever says when. One run at a time, and of all instances one runs each tick:
 *
 * A lock that is released when the job ends would not do. The timer of another instance fires some milliseconds
 * later, or, where its host's clock is behind, much later; a quick job has ended by then, the lock would be free, and
 * the tick would run twice. So the lock is kept: until the tick after the next one, but not longer than its TTL, in
 * milliseconds that the database adds to its own clock. The instance that has it goes on with it at its next tick. So a
 * frequent job stays where it is, and when that instance goes away, another one follows within two ticks (or within the
 * TTL, if it crashed while the job ran). A rare job finds its lock free, and any instance may win.
 *
 * The price: clocks may differ by one period of the schedule or by the TTL, whichever is less, before a tick runs
 * twice. A lock named after the tick's time would bear any difference, but leaves a row behind for every tick, and
 * lets a slow job overlap with its next tick elsewhere.
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

  /** Resolves when the tick has been dealt with, in whatever way; never rejects. */
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

  /** Aborts a run and waits for its end, at most `graceMs`. Afterwards no timer remains. */
  async stop(graceMs: number): Promise<void> {
    const run = this.#run;
    if (!run) return;
    run.controller.abort(new Error(`scheduled job '${this.#job.name}': the scheduler stops`));
    if (await this.#endsWithin(run.ended, graceMs)) return;
    // It may still do things that the lock is for: others wait until it runs out.
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
      const reason = await this.#enter(run);
      if (reason) return this.#emit('skipped', run.tick, { reason });
      await this.#execute(run);
      this.#emit('finished', run.tick, { durationMs: Math.round(this.#clock.monotonicMs() - startedAtMs) });
    } catch (error) {
      this.#tellFailure(run, error);
    } finally {
      await run.lease?.keepFor(this.#holdMs(run.tick));
    }
  }

  async #execute({ tick, controller }: Run): Promise<void> {
    const { signal } = controller;
    // A stop may have come while the lock was asked for.
    signal.throwIfAborted();
    const context: JobContext = { signal, scheduledAt: tick.scheduledAt };
    await this.#job.execute(context);
  }

  /** Takes the lock, or gives the reason to leave the tick alone. */
  async #enter(run: Run): Promise<'locked' | 'late' | undefined> {
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
    // After a pause of this process the lock is no proof any more: who ran the tick may have kept it, and it ran out.
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

  async #endsWithin(ended: Promise<void>, graceMs: number): Promise<boolean> {
    let cancel = (): void => {};
    const timeUp = new Promise<false>((resolve) => {
      cancel = this.#clock.schedule(graceMs, () => resolve(false));
    });
    const isEnded = await Promise.race([ended.then(() => true), timeUp]);
    cancel();
    return isEnded;
  }

  #tellFailure({ tick, controller: { signal } }: Run, error: unknown): void {
    if (signal.aborted && isCausedBy(error, signal.reason))
      this.#emit('interrupted', tick, { reason: signal.reason });
    else this.#emit('failed', tick, { error });
  }

  #emit<Signal extends SchedulerEventName>(
    signal: Signal,
    { scheduledAt }: Tick,
    rest: Omit<SchedulerEventMap[Signal], 'job' | 'scheduledAt'>,
  ): void {
    const told = { job: this.#job.name, scheduledAt, ...rest } as SchedulerEventMap[Signal];
    this.#events.emit(signal, told);
  }
}

/** `fetch` rejects with the reason itself, Node's own functions with an `AbortError` that has it as its cause. */
function isCausedBy(error: unknown, reason: unknown): boolean {
  return error === reason || (error instanceof Error && error.cause === reason);
}
