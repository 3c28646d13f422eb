import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import type { DispatchEventListener, DispatchEvents } from './dispatch-events.js';
import type { FailureThreshold } from './failure-count.js';
import { assertFailureHook, FailureWatch } from './failure-watch.js';

/** Hooks for alerts. Each is called after the outcome is in the table. A hook that fails never delays a row. */
export interface OutboxHooks {
  /** A row failed for the first time. `willRetry` is false if it is dead. */
  readonly onFirstFailure?: DispatchEventListener<'firstFailure'>;
  /** A row is dead. The event has everything that a dead-letter record needs. */
  readonly onDead?: DispatchEventListener<'dead'>;
  /**
   * A topic had more than `threshold` failed publishes or dead rows within `windowMs`. Called again only after there
   * were fewer. Counts this process only.
   */
  readonly onFailures?: FailureThreshold & { readonly notify: DispatchEventListener<'failures'> };
  /** The worker found at least `threshold` due rows. Called again only after there were fewer. */
  readonly onBacklog?: { readonly threshold: number; readonly notify: DispatchEventListener<'backlog'> };
}

export const HOOK_NAMES: OptionNames<OutboxHooks> = {
  onFirstFailure: true,
  onDead: true,
  onBacklog: true,
  onFailures: true,
};
const ON_BACKLOG_NAMES: OptionNames<OutboxHooks['onBacklog'] & object> = { threshold: true, notify: true };

/** @throws `INVALID_CONFIG` for invalid hooks. The worker checks the threshold of `onBacklog`. */
export function assertHooks({ onBacklog, onFailures }: OutboxHooks): void {
  assertKnownOptions('OutboxModule: onBacklog', onBacklog ?? {}, ON_BACKLOG_NAMES);
  if (onFailures) assertFailureHook(onFailures);
}

/** Calls the hooks for the events that are emitted from now on. */
export function callHooks(events: DispatchEvents, hooks: OutboxHooks): void {
  const { onFirstFailure, onDead, onFailures, onBacklog } = hooks;
  if (onFirstFailure) events.on('firstFailure', onFirstFailure);
  if (onDead) events.on('dead', onDead);
  if (onBacklog) events.on('backlog', onBacklog.notify);
  if (!onFailures) return;
  new FailureWatch(events, onFailures);
  events.on('failures', onFailures.notify);
}
