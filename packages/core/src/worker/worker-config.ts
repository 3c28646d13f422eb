import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';

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
  assertDelay('pollIntervalMs', pollIntervalMs);
  if (takeoverAfterMs !== false) assertDelay('takeoverAfterMs', takeoverAfterMs);
  assertWhole('batchesInFlight', batchesInFlight);
  assertWhole('maxBytesInFlight', maxBytesInFlight);
  if (backlogThreshold !== undefined) assertWhole('backlogThreshold', backlogThreshold);
  return resolved;
}

/** A longer wait overflows the timer, which would then fire at once. */
function assertDelay(name: string, ms: number): void {
  if (!(typeof ms === 'number' && ms >= 1 && ms < 2 ** 31))
    throw invalid(`${name} must be at least 1 and below 2^31, got ${String(ms)}`);
}

function assertWhole(name: string, value: number): void {
  if (!(Number.isInteger(value) && value >= 1))
    throw invalid(`${name} must be a whole number from 1, got ${String(value)}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxWorker: ${problem}`);
}
