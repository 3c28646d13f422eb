import { assertKnownOptions, type OptionNames, OutboxError } from '@postcommit/core';
import { assertJobSchedule } from '@postcommit/scheduler';

/** How many rows a sweep deleted, of each state. */
export interface PurgeReport {
  readonly dispatched: number;
  readonly dead: number;
  /** What consumers no longer remember (`ProcessedMessages`). */
  readonly processed: number;
}

/** Where a sweep logs. `console` and pino fit. */
export interface RetentionLogger {
  info(message: string): void;
}

export interface OutboxRetentionOptions {
  /** How long a dispatched row stays, counted from its dispatch. Default 7 days. */
  readonly retentionMs?: number | undefined;
  /** How long a dead row stays, counted from its death. Default for ever: operators triage dead rows by hand. */
  readonly deadRetentionMs?: number | undefined;
  /**
   * How long consumers remember what they processed (`ProcessedMessages`). Default for ever; keep it above the time in
   * which a row can come again, by an operator's requeue for one.
   */
  readonly processedRetentionMs?: number | undefined;
  /** When the sweep runs. Default `0 3 * * *`: daily at 03:00. */
  readonly schedule?: string | undefined;
  /** The zone in which the schedule is read. Default UTC. */
  readonly timezone?: string | undefined;
  /** Keeps other instances from sweeping at the same time; renewed while the sweep runs. Default 60 s. */
  readonly lockTtlMs?: number | undefined;
  /**
   * Gets one line after a sweep that deleted something, and only then. Default: a line on standard error. `false`: none.
   */
  readonly logger?: RetentionLogger | false | undefined;
  /** Told after a sweep that deleted something, and only then. What it throws is reported as the job's failure. */
  readonly onPurged?: ((report: PurgeReport) => void) | undefined;
}

/** The options with their defaults. */
export interface Retention {
  readonly name: string;
  readonly retentionMs: number;
  readonly deadRetentionMs: number | undefined;
  readonly processedRetentionMs: number | undefined;
  readonly schedule: string;
  readonly timezone: string;
  readonly lockTtlMs: number;
  readonly logger: RetentionLogger | false;
  readonly onPurged: ((report: PurgeReport) => void) | undefined;
}

const DEFAULT_LOGGER: RetentionLogger = {
  info: (message) => void process.stderr.write(`${message}\n`),
};

const OPTION_NAMES: OptionNames<OutboxRetentionOptions> = {
  retentionMs: true,
  deadRetentionMs: true,
  processedRetentionMs: true,
  schedule: true,
  timezone: true,
  lockTtlMs: true,
  onPurged: true,
  logger: true,
};

const DAY_MS = 24 * 60 * 60_000;

/** Fills in defaults and refuses nonsense. */
export function resolveRetention(options: OutboxRetentionOptions): Retention {
  assertKnownOptions('OutboxRetentionModule', options, OPTION_NAMES);
  const retention: Retention = {
    name: 'outbox-retention',
    retentionMs: options.retentionMs ?? 7 * DAY_MS,
    deadRetentionMs: options.deadRetentionMs,
    processedRetentionMs: options.processedRetentionMs,
    schedule: options.schedule ?? '0 3 * * *',
    timezone: options.timezone ?? 'UTC',
    lockTtlMs: options.lockTtlMs ?? 60_000,
    logger: options.logger ?? DEFAULT_LOGGER,
    onPurged: options.onPurged,
  };
  assertLogger(retention.logger);
  for (const name of ['retentionMs', 'deadRetentionMs', 'processedRetentionMs'] as const) {
    const ageMs = retention[name];
    if (ageMs !== undefined) assertAge(name, ageMs);
  }
  assertJobSchedule(retention);
  return retention;
}

function assertLogger(logger: RetentionLogger | false): void {
  if (logger === false || typeof logger?.info === 'function') return;
  throw new OutboxError(
    'INVALID_CONFIG',
    'OutboxRetentionModule: logger must have a method info, or be false',
  );
}

/** Zero would delete what was dispatched a moment ago, receipts of claims included: never what was meant. */
function assertAge(name: string, ageMs: number): void {
  if (Number.isFinite(ageMs) && ageMs > 0) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `OutboxRetentionModule: ${name} must be more than 0 milliseconds, got ${String(ageMs)}; leave the module out to keep rows for ever`,
  );
}
