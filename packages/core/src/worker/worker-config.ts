import type { OptionNames } from '../message/known-options.js';
import { assertTimerDelay, assertWholeNumber } from '../message/option-checks.js';

/** Configures the worker's loop. */
export interface WorkerConfig {
  /** The longest wait between polls, and so the longest delay of a row when no hint arrives. @default 1_000 */
  readonly pollIntervalMs: number;
  /** Concurrent batches. With 2, the next batch is claimed while the last one settles. @default 2 */
  readonly batchesInFlight: number;
  /** The approximate total size of claimed payloads. Batches get smaller to stay below it. @default 64 MiB */
  readonly maxBytesInFlight: number;
  /**
   * Other workers take over the claims of this one when they have not heard of it for this long: after a crash, its rows
   * wait no longer. At least `publishTimeoutMs` plus one heartbeat of five seconds. With false, its claims expire.
   *
   * @default 30_000
   */
  readonly takeoverAfterMs: number | false;
  /** Emits `backlog` when this many rows are due. @default never */
  readonly backlogThreshold?: number;
}

const DEFAULTS: WorkerConfig = {
  pollIntervalMs: 1_000,
  batchesInFlight: 2,
  maxBytesInFlight: 64 * 1024 * 1024,
  takeoverAfterMs: 30_000,
};

export const WORKER_CONFIG_NAMES: OptionNames<WorkerConfig> = {
  pollIntervalMs: true,
  batchesInFlight: true,
  maxBytesInFlight: true,
  takeoverAfterMs: true,
  backlogThreshold: true,
};

/**
 * Applies defaults.
 *
 * @throws `INVALID_CONFIG` for invalid options.
 */
export function resolveWorkerConfig(config: Partial<WorkerConfig> = {}): WorkerConfig {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const resolved: WorkerConfig = { ...DEFAULTS, ...given };
  const { pollIntervalMs, batchesInFlight, maxBytesInFlight, takeoverAfterMs, backlogThreshold } = resolved;
  assertTimerDelay('OutboxWorker: pollIntervalMs', pollIntervalMs);
  if (takeoverAfterMs !== false) assertTimerDelay('OutboxWorker: takeoverAfterMs', takeoverAfterMs);
  assertWholeNumber('OutboxWorker: batchesInFlight', batchesInFlight);
  assertWholeNumber('OutboxWorker: maxBytesInFlight', maxBytesInFlight);
  if (backlogThreshold !== undefined) assertWholeNumber('OutboxWorker: backlogThreshold', backlogThreshold);
  return resolved;
}
