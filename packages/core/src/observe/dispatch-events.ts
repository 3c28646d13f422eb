import type { DeadReason } from '../message/dead-reason.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import { errorText } from '../message/error-text.js';
import type { OutboxBacklog, OutboxRow } from '../message/outbox-row.js';
import { nameToken } from '../modules/token.js';
import { TypedEvents } from '../runtime/typed-events.js';
import type { FailureCount } from './failure-count.js';
import type { SchemaProblem } from './schema-problem.js';

/** The first failed attempt of a row. `willRetry` is false if the row is dead. */
export type FirstFailure = { readonly row: OutboxRow; readonly error: string } & (
  | { readonly willRetry: true; readonly delayMs: number }
  | { readonly willRetry: false; readonly delayMs?: undefined }
);

/**
 * The events of the dispatcher and the worker, by name. Outcomes are emitted after they are recorded in the table. The
 * row of `failed`, `firstFailure` and `dead` is the row after its outcome: with the new `attempts`, `lastError` and
 * `deadReason`, and without its claim. Its `deadAt` and `availableAt` come from this process's clock; the table has the
 * database's time.
 */
export interface DispatchEventMap {
  /** The worker has started. */
  readonly started: Record<never, never>;
  /** The worker has stopped. `abandoned`: ids of rows whose publish did not end in time; their claims will expire. */
  readonly stopped: { readonly abandoned: readonly string[] };
  /** A batch was settled. Not emitted for empty batches. */
  readonly batch: DispatchSummary;
  /** A publish failed; the row will be retried. */
  readonly failed: { readonly row: OutboxRow; readonly error: string; readonly delayMs: number };
  /** A row failed for the first time, whether it will be retried or is dead at once. */
  readonly firstFailure: FirstFailure;
  /** A row is dead: it will not be retried. */
  readonly dead: { readonly row: OutboxRow; readonly error: string; readonly reason: DeadReason };
  /** Outcomes could not be recorded because the claims were lost. The new owner decides. */
  readonly fenced: { readonly ids: readonly string[] };
  /** An expired claim was taken over from a process that died or stalled. */
  readonly retaken: { readonly row: OutboxRow };
  /** Another worker was not heard of for too long. This one declared it lost and ended its claims on `rows` rows. */
  readonly workerLost: {
    readonly workerId: string;
    readonly host: string;
    readonly pid: number;
    readonly rows: number;
  };
  /** Others had not heard of this worker for too long and have taken its claims over. It continues under a new id. */
  readonly declaredLost: { readonly workerId: string };
  /**
   * A topic had more than `threshold` failed publishes or dead rows within `windowMs`. Emitted once, and again only
   * after there were fewer.
   */
  readonly failures: FailureCount;
  /** At least `threshold` rows are due. Emitted once, and again only after there were fewer. */
  readonly backlog: OutboxBacklog & { readonly threshold: number };
  /** The tables work, but badly. Found when the application started. */
  readonly schemaProblem: SchemaProblem;
  /** The store can't be reached, or a batch could not be settled. The worker keeps trying. */
  readonly trouble: { readonly error: unknown; readonly retryInMs: number };
  /** A problem of the store that no call reports, such as a lost idle connection or a lock held by somebody else. */
  readonly storeProblem: { readonly error: unknown };
  /** A destination is away: nothing is sent to it until one row gets through. Its rows keep their attempts. */
  readonly unavailable: {
    readonly destination: string;
    readonly error: unknown;
    readonly nextTryInMs: number;
  };
  /** A row got through to a destination that was away. */
  readonly available: { readonly destination: string; readonly afterMs: number };
  /**
   * A publisher's broker was away at the start, or has settings under which less is promised than it seems. `required`:
   * found only after the start, which would have refused it.
   */
  readonly publisherProblem: {
    readonly publisher: string;
    readonly level: 'required' | 'warning';
    readonly problem: string;
    readonly fix: string;
  };
  /** The store answers again. */
  readonly recovered: { readonly afterMs: number };
  /**
   * Whether hints of other processes wake the worker. If not, it finds their rows by its polls, `pollIntervalMs` apart
   * when it is idle. Without an `error`, the store has nothing to listen to; emitted once, at the start.
   */
  readonly wakeup: {
    readonly isListening: boolean;
    readonly pollIntervalMs: number;
    readonly error?: unknown;
    readonly willRetry?: boolean;
  };
  /** This process did nothing for more than a second: no row was published, and no claim could be extended. */
  readonly eventLoopBlocked: { readonly ms: number };
  /** A listener of `event` failed. Without a listener for this event, it becomes a process warning. */
  readonly listenerFailed: { readonly event: DispatchEventName; readonly error: unknown };
}

export type DispatchEventName = keyof DispatchEventMap;
export type DispatchEventListener<Name extends DispatchEventName> = (
  event: DispatchEventMap[Name],
) => unknown;

/**
 * Emits events for logs, alerts and tests. A listener that fails or is slow never delays a row.
 *
 * @example
 * app.get(DispatchEvents).on('dead', ({ row, reason, error }) => log.error({ id: row.id, reason, error }));
 */
export class DispatchEvents extends TypedEvents<DispatchEventMap> {
  static {
    nameToken(this, '@postcommit/core/DispatchEvents');
  }

  protected override listenerFailed(name: DispatchEventName, error: unknown): void {
    if (name !== 'listenerFailed' && this.hasListeners('listenerFailed')) {
      this.emit('listenerFailed', { event: name, error });
      return;
    }
    process.emitWarning(
      `a listener of the outbox event '${name}' failed: ${errorText(error)}`,
      'OutboxWarning',
    );
  }
}
