import { errorText, nameToken } from '@postcommit/core';

interface OfTick {
  readonly job: string;
  readonly scheduledAt: Date;
}

/** What the scheduler tells, by name. */
export interface SchedulerEventMap {
  readonly finished: OfTick & { readonly durationMs: number };
  /** The job threw, or its lock could not be asked for and it did not run. The next tick tries again. */
  readonly failed: OfTick & { readonly error: unknown };
  /** The job ended with the reason of its own signal: the application stops, or the lock was lost. */
  readonly interrupted: OfTick & { readonly reason: unknown };
  /**
   * The tick did not run. `running`: the job still works on an earlier one. `locked`: another instance runs it.
   * `repeated`: the clock was set back and names a time again that was done. `late`: this process came to it only
   * after `lockTtlMs`, when another instance may have run it and its lock have run out.
   */
  readonly skipped: OfTick & { readonly reason: 'running' | 'locked' | 'repeated' | 'late' };
  /** Another instance may run the job too from now on. The job's signal was aborted if it still ran. */
  readonly lockLost: OfTick & { readonly error: Error };
  /** The job did not end in the time that `stop` gave it. */
  readonly abandoned: OfTick;
}

export type SchedulerEventName = keyof SchedulerEventMap;
export type SchedulerEventListener<Signal extends SchedulerEventName> = (
  told: SchedulerEventMap[Signal],
) => unknown;

/**
 * For logs, alerts and tests. What nobody listens to and nobody should miss becomes a process warning.
 *
 * @example
 * app.get(SchedulerEvents).on('failed', ({ job, error }) => log.error({ job, error }));
 */
export class SchedulerEvents {
  static {
    nameToken(this, '@postcommit/scheduler/SchedulerEvents');
  }

  readonly #listeners = new Map<SchedulerEventName, Set<SchedulerEventListener<never>>>();

  /** Gives the way to stop listening. */
  on<Signal extends SchedulerEventName>(
    signal: Signal,
    listener: SchedulerEventListener<Signal>,
  ): () => void {
    const listeners = this.#listeners.get(signal) ?? new Set();
    this.#listeners.set(signal, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  /** For schedulers: calls every listener, whatever the others do. */
  emit<Signal extends SchedulerEventName>(signal: Signal, told: SchedulerEventMap[Signal]): void {
    const listeners = [...(this.#listeners.get(signal) ?? [])] as SchedulerEventListener<Signal>[];
    if (listeners.length === 0) warnUnheard(signal, told);
    for (const listener of listeners) {
      try {
        const result = listener(told);
        if (result instanceof Promise) result.catch((error) => warnOfListener(signal, error));
      } catch (error) {
        warnOfListener(signal, error);
      }
    }
  }
}

function warnUnheard(signal: SchedulerEventName, told: OfTick & { readonly error?: unknown }): void {
  const tick = `scheduled job '${told.job}', ${told.scheduledAt.toISOString()}`;
  if (signal === 'failed') warn(`${tick}: failed: ${errorText(told.error)}`);
  if (signal === 'lockLost') warn(`${tick}: ${errorText(told.error)}`);
  if (signal === 'abandoned') warn(`${tick}: still runs after the scheduler stopped`);
}

function warnOfListener(signal: SchedulerEventName, error: unknown): void {
  warn(`a listener of the scheduler signal '${signal}' failed: ${errorText(error)}`);
}

function warn(message: string): void {
  process.emitWarning(message, 'SchedulerWarning');
}
