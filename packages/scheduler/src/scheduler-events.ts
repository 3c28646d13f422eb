import { errorText, nameToken, TypedEvents } from '@postcommit/core/internal';

interface OfTick {
  readonly job: string;
  readonly scheduledAt: Date;
}

/** The events of the scheduler, by name. */
export interface SchedulerEventMap {
  readonly finished: OfTick & { readonly durationMs: number };
  /** The job threw, or did not run because requesting its lock failed. The next tick tries again. */
  readonly failed: OfTick & { readonly error: unknown };
  /** The job ended because its signal aborted: the application is stopping, or the lock was lost. */
  readonly interrupted: OfTick & { readonly reason: unknown };
  /**
   * The tick did not run here. `running`: the job is still running for an earlier tick. `locked`: another instance runs
   * it. `repeated`: the clock was set back to a tick that already ran. `late`: this process reached it only after
   * `lockTtlMs`, when another instance may have run it and its lock may have expired.
   */
  readonly skipped: OfTick & { readonly reason: 'running' | 'locked' | 'repeated' | 'late' };
  /** Another instance may now run the job too. If the job was still running, its signal was aborted. */
  readonly lockLost: OfTick & { readonly error: Error };
  /** The job did not end within the grace period of `stop`. */
  readonly abandoned: OfTick;
}

export type SchedulerEventName = keyof SchedulerEventMap;
export type SchedulerEventListener<Name extends SchedulerEventName> = (
  event: SchedulerEventMap[Name],
) => unknown;

/**
 * Emits what happens to jobs, for logs, alerts and tests. `failed`, `lockLost` and `abandoned` become process warnings if
 * they have no listener.
 *
 * @example
 * app.get(SchedulerEvents).on('failed', ({ job, error }) => log.error({ job, error }));
 */
export class SchedulerEvents extends TypedEvents<SchedulerEventMap> {
  static {
    nameToken(this, '@postcommit/scheduler/SchedulerEvents');
  }

  override emit<Name extends SchedulerEventName>(name: Name, event: SchedulerEventMap[Name]): void {
    if (!this.hasListeners(name)) warnWithoutListener(name, event);
    super.emit(name, event);
  }

  protected override listenerFailed(name: SchedulerEventName, error: unknown): void {
    warn(`a listener of the scheduler event '${name}' failed: ${errorText(error)}`);
  }
}

function warnWithoutListener(name: SchedulerEventName, event: OfTick & { readonly error?: unknown }): void {
  const tick = `scheduled job '${event.job}', ${event.scheduledAt.toISOString()}`;
  if (name === 'failed') warn(`${tick}: failed: ${errorText(event.error)}`);
  if (name === 'lockLost') warn(`${tick}: ${errorText(event.error)}`);
  if (name === 'abandoned') warn(`${tick}: still running after the scheduler stopped`);
}

function warn(message: string): void {
  process.emitWarning(message, 'SchedulerWarning');
}
