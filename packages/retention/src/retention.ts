import { OutboxError } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import { assertJobSchedule } from '@postcommit/scheduler';

/** How many rows a sweep deleted, by state. */
export interface PurgeReport {
  readonly dispatched: number;
  readonly dead: number;
  /** Records of processed messages (`ProcessedMessages`). */
  readonly processed: number;
}

/** Where a sweep logs. `console` and pino fit as they are. */
export interface RetentionLogger {
  info(message: string): void;
}

export interface OutboxRetentionOptions {
  /**
   * How long a dispatched row is kept, in milliseconds from its dispatch.
   *
   * @default 7 days
   */
  readonly retentionMs?: number | undefined;
  /**
   * How long a dead row is kept, in milliseconds from when it became dead.
   *
   * @default forever: operators triage dead rows by hand
   */
  readonly deadRetentionMs?: number | undefined;
  /**
   * How long the records of processed messages are kept (`ProcessedMessages`), in milliseconds. Keep it longer than the
   * time in which a row can be delivered again, e.g. after an operator requeues it.
   *
   * @default forever
   */
  readonly processedRetentionMs?: number | undefined;
  /**
   * When the sweep runs: a cron expression.
   *
   * @default '0 3 * * *', daily at 03:00
   */
  readonly schedule?: string | undefined;
  /**
   * The IANA name of the schedule's time zone.
   *
   * @default 'UTC'
   */
  readonly timezone?: string | undefined;
  /**
   * The lifetime of the lock that keeps other instances from sweeping, in milliseconds. Renewed while the sweep runs.
   *
   * @default 60_000
   */
  readonly lockTtlMs?: number | undefined;
  /**
   * Receives one line after each sweep that deleted something. `false` turns it off.
   *
   * @default standard error
   */
  readonly logger?: RetentionLogger | false | undefined;
  /** Called after each sweep that deleted something. If it throws, the job fails. */
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

/**
 * Fills in the defaults.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 */
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

/** Zero would also delete rows dispatched a moment ago, whose settle may have to be repeated. Never intended. */
function assertAge(name: string, ageMs: number): void {
  if (Number.isFinite(ageMs) && ageMs > 0) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `OutboxRetentionModule: ${name} must be more than 0 milliseconds, got ${String(ageMs)}; leave the module out to keep rows forever`,
  );
}
