import { type Span, trace } from '@opentelemetry/api';
import { type Lifecycle, nameToken } from '@postcommit/core';

/**
 * The span inside which the application was started, if there was one. What runs from then on in the background, a worker's
 * loop or a schedule, still sees it as the active one: every batch of the process would end up in the trace of its
 * start-up, and if that was not sampled, none would ever be seen.
 */
export class StartupSpan implements Lifecycle {
  static {
    nameToken(this, '@postcommit/telemetry/StartupSpan');
  }

  readonly name = 'outbox telemetry';
  /** Before all work, so that no batch is earlier. */
  readonly phase = 'resource';
  #span: Span | undefined;

  start(): void {
    this.#span = trace.getActiveSpan();
  }

  stop(): void {
    this.#span = undefined;
  }

  get isActive(): boolean {
    return this.#span !== undefined && this.#span === trace.getActiveSpan();
  }
}
