import { type Span, trace } from '@opentelemetry/api';
import type { Lifecycle } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';

/**
 * The span in which the application was started, if any. Background work such as the worker's loop or a schedule still
 * sees it as active. Without this, every batch would join the trace of the startup, and if that trace was not sampled, no
 * batch would ever be visible.
 */
export class StartupSpan implements Lifecycle {
  static {
    nameToken(this, '@postcommit/telemetry/StartupSpan');
  }

  readonly name = 'outbox telemetry';
  /** Starts before the phase `work`, and so before any batch. */
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
