import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';

/** How the worker's loop goes. */
export interface WorkerConfig {
  /** The longest wait between two looks for due rows. Default 1 s: how late a row can be when no hint comes. */
  readonly pollIntervalMs: number;
  /** Batches on their way at the same time. Default 2: the next is claimed while the last one settles. */
  readonly batchesInFlight: number;
  /** About how much the payloads of claimed rows may weigh. Default 64 MiB: smaller batches are claimed beyond it. */
  readonly maxBytesInFlight: number;
  /** Tells the signal `backlog` when so many rows are due. Default: never. */
  readonly backlogThreshold?: number;
}

const DEFAULTS: WorkerConfig = {
  pollIntervalMs: 1_000,
  batchesInFlight: 2,
  maxBytesInFlight: 64 * 1024 * 1024,
};

export const WORKER_CONFIG_NAMES: OptionNames<WorkerConfig> = {
  pollIntervalMs: true,
  batchesInFlight: true,
  maxBytesInFlight: true,
  backlogThreshold: true,
};

/** Fills in defaults and refuses nonsense. */
export function resolveWorkerConfig(config: Partial<WorkerConfig> = {}): WorkerConfig {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const resolved: WorkerConfig = { ...DEFAULTS, ...given };
  const { pollIntervalMs, batchesInFlight, maxBytesInFlight, backlogThreshold } = resolved;
  // A longer one does not fit a timer, which would then fire at once.
  if (!(pollIntervalMs >= 1 && pollIntervalMs < 2 ** 31))
    throw invalid(`pollIntervalMs must be at least 1 and below 2^31, got ${String(pollIntervalMs)}`);
  assertWhole('batchesInFlight', batchesInFlight);
  assertWhole('maxBytesInFlight', maxBytesInFlight);
  if (backlogThreshold !== undefined) assertWhole('backlogThreshold', backlogThreshold);
  return resolved;
}

function assertWhole(name: string, value: number): void {
  if (!(Number.isInteger(value) && value >= 1))
    throw invalid(`${name} must be a whole number from 1, got ${String(value)}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxWorker: ${problem}`);
}
