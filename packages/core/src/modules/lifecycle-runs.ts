import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { endsWithin, systemClock } from '../runtime/timing.js';
import { assertGrace, DEFAULT_GRACE_MS, type Lifecycle, type StopOptions } from './lifecycle.js';

/** How long an abandoned start waits for the parts that had started to stop: they may hang for the same reason. */
const ABANDONED_STOP_MS = 1_000;

/** One start and what it started. */
interface Run {
  readonly started: Lifecycle[];
  /** The part that is starting. */
  starting: Lifecycle | undefined;
  isAbandoned: boolean;
  /** Rejects the promise of `start()`. */
  abandon: (error: OutboxError) => void;
}

/** Starts lifecycles in order and stops them in reverse order. A stop abandons a start that hangs. */
export class LifecycleRuns {
  #current: { readonly run: Run; readonly starting: Promise<void> } | undefined;
  #stopping: Promise<void> | undefined;

  /** Whether parts are starting or running. */
  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  /** Starts all parts, or returns the promise of the current start. */
  start(lifecycles: () => readonly Lifecycle[]): Promise<void> {
    this.#current ??= this.#begin(lifecycles);
    return this.#current.starting;
  }

  stop(options: StopOptions): Promise<void> {
    this.#stopping ??= this.#stop(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  #begin(lifecycles: () => readonly Lifecycle[]): { run: Run; starting: Promise<void> } {
    const run: Run = { started: [], starting: undefined, isAbandoned: false, abandon: () => {} };
    const abandoned = new Promise<never>((_, reject) => {
      run.abandon = reject;
    });
    const starting = Promise.race([this.#startAll(run, lifecycles), abandoned]).catch((error) => {
      if (this.#current?.run === run) this.#current = undefined;
      throw error;
    });
    return { run, starting };
  }

  async #startAll(run: Run, lifecycles: () => readonly Lifecycle[]): Promise<void> {
    for (const lifecycle of lifecycles()) {
      run.starting = lifecycle;
      try {
        await lifecycle.start();
      } catch (error) {
        throw await stopAfter(error, run);
      }
      if (run.isAbandoned) return this.#stopLate(lifecycle);
      run.started.push(lifecycle);
    }
  }

  async #stop(options: StopOptions): Promise<void> {
    assertGrace(options.graceMs);
    if (!this.#current) return;
    const { run, starting } = this.#current;
    const graceMs = options.graceMs ?? DEFAULT_GRACE_MS;
    // Parts that start after the stop would otherwise never be stopped.
    const hasEnded = await endsWithin(graceMs, settled(starting), systemClock);
    this.#current = undefined;
    if (hasEnded) await stopStarted(run, options);
    else await abandon(run, graceMs);
  }

  /** Stops a part of an abandoned start, unless a newer start owns it now. Nobody waits for this, so it only warns. */
  async #stopLate(lifecycle: Lifecycle): Promise<void> {
    if (this.#current) return;
    try {
      await lifecycle.stop({ graceMs: 0 });
    } catch (error) {
      const problem = `${lifecycle.name} started after the stop and could not be stopped again`;
      process.emitWarning(`${problem}: ${errorText(error)}`, 'OutboxWarning');
    }
  }
}

async function abandon(run: Run, graceMs: number): Promise<never> {
  run.isAbandoned = true;
  const problem = `${run.starting?.name} had not started when the ${graceMs} ms grace period was over: the start was abandoned, and what had started before it is stopped`;
  run.abandon(new OutboxError('START_ABANDONED', problem));
  let cause: unknown;
  const stopping = stopStarted(run, { graceMs: 0 }).catch((error) => {
    cause = error;
  });
  await endsWithin(ABANDONED_STOP_MS, stopping, systemClock);
  throw new OutboxError('START_ABANDONED', problem, cause === undefined ? {} : { cause });
}

async function stopAfter(error: unknown, run: Run): Promise<unknown> {
  try {
    await stopStarted(run, {});
    return error;
  } catch (stopError) {
    return new AggregateError([error, stopError], 'the start failed, and so did stopping what had started');
  }
}

async function stopStarted({ started }: Run, options: StopOptions): Promise<void> {
  const errors: unknown[] = [];
  for (const lifecycle of started.splice(0).reverse()) {
    try {
      await lifecycle.stop(options);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, 'several parts of the application failed to stop');
}

function settled(work: Promise<void>): Promise<void> {
  return work.catch(() => {});
}
