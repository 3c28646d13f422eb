import type { DeadReason } from '../message/dead-reason.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import { errorText } from '../message/error-text.js';
import type { OutboxBacklog, OutboxRow } from '../message/outbox-row.js';
import { nameToken } from '../modules/token.js';
import type { FailureCount } from './failure-count.js';
import type { SchemaProblem } from './schema-problem.js';

/** The first failed try of a row; `willRetry` tells whether it was also the last. */
export type FirstFailure = { readonly row: OutboxRow; readonly error: string } & (
  | { readonly willRetry: true; readonly delayMs: number }
  | { readonly willRetry: false; readonly delayMs?: undefined }
);

/**
 * What the dispatcher and the worker tell, by name. Each is told after it is true in the table. The row of `failed`,
 * `firstFailure` and `dead` is the one after the decision: with `attempts`, `lastError`, `deadReason`, and without its
 * claim. Its `deadAt` and its new `availableAt` are by the clock of this process; the table has the database's time.
 */
export interface DispatchEventMap {
  /** The worker runs. */
  readonly started: Record<never, never>;
  /** The worker has ended. `abandoned`: ids whose publish had not ended in time; their claims are left to expire. */
  readonly stopped: { readonly abandoned: readonly string[] };
  /** A batch with rows in it was settled. */
  readonly batch: DispatchSummary;
  /** A publish failed; the row will be tried again. */
  readonly failed: { readonly row: OutboxRow; readonly error: string; readonly delayMs: number };
  /** A row failed for the first time, whether it will be tried again or is dead at once. */
  readonly firstFailure: FirstFailure;
  /** A row was given up. */
  readonly dead: { readonly row: OutboxRow; readonly error: string; readonly reason: DeadReason };
  /** Outcomes that could not be recorded, because the claims were lost before. The new owner decides. */
  readonly fenced: { readonly ids: readonly string[] };
  /** Claims that had expired, of a process that died or stalled, were taken over. */
  readonly retaken: { readonly row: OutboxRow };
  /**
   * More than `threshold` tries of a topic failed, or rows of it died, within `windowMs`. Emitted once until there were
   * fewer.
   */
  readonly failures: FailureCount;
  /** At least `threshold` rows are due. Told once, and again after it has been less. */
  readonly backlog: OutboxBacklog & { readonly threshold: number };
  /** The table works, but badly: found when the application started. */
  readonly schemaProblem: SchemaProblem;
  /** The store can't be reached, or a batch could not be settled; the worker goes on trying. */
  readonly trouble: { readonly error: unknown; readonly retryInMs: number };
  /** A problem of the store that no call reports: a lost idle connection, a lock that somebody else holds. */
  readonly storeProblem: { readonly error: unknown };
  /** The store answers again. */
  readonly recovered: { readonly afterMs: number };
  /** Whether the worker is woken by hints. Where it is not, it polls. */
  readonly wakeup: { readonly isListening: boolean; readonly error?: unknown; readonly willRetry?: boolean };
  /** A listener of a signal threw. Where nobody listens to this one, it becomes a process warning. */
  readonly listenerFailed: { readonly signal: DispatchEventName; readonly error: unknown };
}

export type DispatchEventName = keyof DispatchEventMap;
export type DispatchEventListener<Signal extends DispatchEventName> = (
  told: DispatchEventMap[Signal],
) => unknown;

/**
 * For logs, alerts and tests. A listener that fails or takes its time never holds up a row.
 *
 * @example
 * app.get(DispatchEvents).on('dead', ({ row, reason, error }) => log.error({ id: row.id, reason, error }));
 */
export class DispatchEvents {
  static {
    nameToken(this, '@postcommit/core/DispatchEvents');
  }

  readonly #listeners = new Map<DispatchEventName, Set<DispatchEventListener<never>>>();

  /** Gives the way to stop listening. */
  on<Signal extends DispatchEventName>(signal: Signal, listener: DispatchEventListener<Signal>): () => void {
    const listeners = this.#listeners.get(signal) ?? new Set();
    this.#listeners.set(signal, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  /** For the engine: calls every listener, whatever the others do. */
  emit<Signal extends DispatchEventName>(signal: Signal, told: DispatchEventMap[Signal]): void {
    for (const listener of this.#listeners.get(signal) ?? []) {
      try {
        const result = (listener as DispatchEventListener<Signal>)(told);
        // Also a thenable that is no Promise: a query of an ORM runs only when somebody waits for it.
        if (isThenable(result)) Promise.resolve(result).catch((error) => this.#listenerFailed(signal, error));
      } catch (error) {
        this.#listenerFailed(signal, error);
      }
    }
  }

  /** Whether somebody listens: what is costly to find out is found out only then. */
  hasListeners(signal: DispatchEventName): boolean {
    return (this.#listeners.get(signal)?.size ?? 0) > 0;
  }

  #listenerFailed(signal: DispatchEventName, error: unknown): void {
    if (signal !== 'listenerFailed' && this.hasListeners('listenerFailed')) {
      this.emit('listenerFailed', { signal, error });
      return;
    }
    process.emitWarning(
      `a listener of the outbox signal '${signal}' failed: ${errorText(error)}`,
      'OutboxWarning',
    );
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
