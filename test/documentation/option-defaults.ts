import { readFileSync } from 'node:fs';
import { MemoryOutboxStore } from '@postcommit/store-memory';
import { resolveConfig } from '../../packages/core/src/dispatch/outbox-config.js';
import { resolveWorkerConfig } from '../../packages/core/src/worker/worker-config.js';
import { resolveOptions } from '../../packages/nestjs/src/resolve-options.js';
import { resolveOnNoListener } from '../../packages/publisher-events/src/outbox-events-publisher.js';
import { resolveRetention } from '../../packages/retention/src/retention.js';
import { DEFAULT_SCHEDULE_RETRY } from '../../packages/scheduled-messages/src/schedule-retry.js';
import { resolveScheduleRetention } from '../../packages/scheduled-messages/src/schedule-sweep.js';
import { DISPATCH_JOB_DEFAULTS } from '../../packages/scheduler/src/outbox-dispatch-job.js';
import { timezoneOf } from '../../packages/scheduler/src/schedule.js';
import { TableName } from '../../packages/store-sql/src/table-name.js';
import { resolveTelemetryOptions } from '../../packages/telemetry/src/telemetry-options.js';
import { root } from './pages.js';

type Defaults = Readonly<Record<string, number | string | boolean>>;

/** What the code does when an option is left out, by the headings of the page. Others have no plain value. */
export function defaultsOfCode(): Readonly<Record<string, Defaults>> {
  const config = resolveConfig();
  const worker = resolveWorkerConfig();
  const retention = resolveRetention({});
  const { backlogAtMost, backlogTimeoutMs, publishParent } = resolveTelemetryOptions({});
  const schedules = resolveScheduleRetention();
  const nest = resolveOptions({});
  const graceMs = sourceNumber('core/src/modules/lifecycle.ts', /DEFAULT_GRACE_MS = ([\d_]+)/);
  const maxPayloadBytes = sourceNumber(
    'core/src/enqueue/enqueue-pipeline.ts',
    /maxPayloadBytes \?\? ([\d_]+)/,
  );
  const publishing = {
    concurrency: config.concurrency,
    publishTimeoutMs: config.publishTimeoutMs,
    maxRetakes: config.maxRetakes,
    maxPayloadBytes,
  };
  const { claimTimeoutMs } = new MemoryOutboxStore();
  const sqlStore = {
    claimTimeoutMs,
    table: new TableName().table,
    wakeup: sourceText('store-sql/src/store/sql-outbox-store.ts', /options\.wakeup \?\? (\w+)/) === 'true',
  };
  return {
    'OutboxModule.forRoot': {
      ...publishing,
      batchSize: config.batchSize,
      maxAttempts: config.maxAttempts,
      pollIntervalMs: worker.pollIntervalMs,
      batchesInFlight: worker.batchesInFlight,
      maxBytesInFlight: worker.maxBytesInFlight,
      takeoverAfterMs: worker.takeoverAfterMs,
      worker: sourceText('core/src/outbox-module.ts', /worker = (\w+)/) === 'true',
    },
    backoff: {},
    'app.stop': { graceMs },
    'OutboxPgModule.forRoot': sqlStore,
    'OutboxTypeormModule.forRoot': {
      ...sqlStore,
      type: sourceText('store-typeorm/src/outbox-typeorm-module.ts', /type: OutboxDataSourceType = '(\w+)'/),
      busyTimeoutMs: sourceNumber(
        'store-typeorm/src/single-connection-executor.ts',
        /BUSY_TIMEOUT_MS = ([\d_]+)/,
      ),
    },
    'OutboxPrismaModule.forRoot': sqlStore,
    'OutboxMemoryModule.forRoot': { claimTimeoutMs },
    'OutboxEventsModule.forRoot': { onNoListener: resolveOnNoListener({}) },
    'OutboxSchedulerModule.forRoot': {
      schedule: DISPATCH_JOB_DEFAULTS.schedule,
      lockTtlMs: DISPATCH_JOB_DEFAULTS.lockTtlMs,
      timezone: timezoneOf(DISPATCH_JOB_DEFAULTS),
    },
    'OutboxRetentionModule.forRoot': {
      retentionMs: retention.retentionMs,
      schedule: retention.schedule,
      timezone: retention.timezone,
      lockTtlMs: retention.lockTtlMs,
    },
    'OutboxTelemetryModule.forRoot': { publishParent, backlogAtMost, backlogTimeoutMs },
    'ScheduledMessagesModule.forRoot': {
      'retry.attempts': DEFAULT_SCHEDULE_RETRY.attempts,
      'retention.failedAgeMs': schedules.failedAgeMs,
      'retention.completedAgeMs': schedules.completed.ageMs,
      'retention.completedCount': schedules.completed.count,
      'retention.sweepIntervalMs': schedules.sweepIntervalMs,
    },
    'NestJS: OutboxModule.forRoot': {
      ...publishing,
      'polling.enabled': nest.isPolling,
      'polling.interval': nest.core.pollIntervalMs ?? 0,
      'polling.batchSize': nest.core.batchSize ?? 0,
      'retry.maxRetries': nest.retry.maxAttempts,
      'retry.backoff': nest.retry.backoff.type,
      'retry.initialDelay': nest.retry.backoff.delayMs,
      stuckThreshold: nest.claimTimeoutMs,
      takeoverAfterMs: worker.takeoverAfterMs,
      onNoListener: nest.onNoListener,
      shutdownGraceMs: graceMs,
    },
    registerOutboxCommands: {
      managesResources:
        sourceText('cli/src/register-outbox-commands.ts', /managesResources = (\w+)/) === 'true',
      shortNames: sourceText('cli/src/register-outbox-commands.ts', /shortNames = (\w+)/) === 'true',
    },
  };
}

/** For a default that the code keeps to itself. */
function sourceText(file: string, pattern: RegExp): string {
  const [, found] = pattern.exec(readFileSync(`${root}/packages/${file}`, 'utf8')) ?? [];
  if (found === undefined) throw new Error(`${file} has no ${pattern}`);
  return found;
}

function sourceNumber(file: string, pattern: RegExp): number {
  return Number(sourceText(file, pattern).replaceAll('_', ''));
}
