import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerOutboxCommands } from '@postcommit/cli';
import {
  composeModules,
  createOutbox,
  DispatchEvents,
  EnqueuePipeline,
  type Module,
  OutboxDispatcher,
  OutboxModule,
  OutboxWorker,
  PermanentError,
  publishInWaves,
  runUntilSignal,
  TransientError,
  UnavailableError,
} from '@postcommit/core';
import { createUuidv7 } from '@postcommit/core/internal';
import { OutboxModule as NestOutboxModule, OutboxHealthIndicator } from '@postcommit/nestjs';
import {
  MemoryEventBus,
  OnEvent,
  OutboxEvent,
  OutboxEventsModule,
  OutboxEventsPublisher,
  onEvent,
} from '@postcommit/publisher-events';
import { OutboxRetentionModule } from '@postcommit/retention';
import { ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { CronerScheduler, OutboxDispatchJob, OutboxSchedulerModule } from '@postcommit/scheduler';
import { MemoryOutboxStore, memoryStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { OutboxPrismaModule, PrismaOutboxStore } from '@postcommit/store-prisma';
import { SqlJobLock, SqlOutboxSchema, SqlOutboxStore } from '@postcommit/store-sql';
import {
  OutboxTypeormModule,
  outboxEntitiesFor,
  TypeormOutboxStore,
  typeormDatabase,
} from '@postcommit/store-typeorm';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { Command } from 'commander';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/cli/src/load-config.js';
import { SqlDiagnostics } from '../../packages/store-sql/src/capabilities/sql-diagnostics.js';
import { SqlOutboxPauses } from '../../packages/store-sql/src/capabilities/sql-outbox-pauses.js';
import { SqlOutboxWorkers } from '../../packages/store-sql/src/capabilities/sql-outbox-workers.js';
import { SqlProcessedMessages } from '../../packages/store-sql/src/capabilities/sql-processed-messages.js';
import { PostgresWakeup } from '../../packages/store-sql/src/postgres/listen/postgres-wakeup.js';

/** As JavaScript sees it: anything goes. */
const odd = (options: object): never => options as never;

class OwnStore extends SqlOutboxStore<never> {
  protected assertTransaction(): void {}
}

const pool = new pg.Pool({ connectionString: 'postgres://127.0.0.1:1/none' });
const dataSource = new DataSource({ type: 'postgres' });
const client = { $queryRawUnsafe: async () => [], $executeRawUnsafe: async () => 0 } as never;
const publish = async (): Promise<void> => {};
const store = new MemoryOutboxStore();
const dispatcher = new OutboxDispatcher(store, publish);
const entry = { topic: 'a', payload: 1 };
const schedule = { topic: 'a', payload: 1, runAt: new Date(0) };
const app = composeModules([OutboxModule, OutboxMemoryModule]);
const worker = new OutboxWorker(store, publish);

const CONFIG: ReadonlyArray<[string, () => unknown, string, string]> = [
  ['createOutbox', () => createOutbox(odd({ store: memoryStore(), module: [] })), 'module', 'modules'],
  ['OutboxModule', () => OutboxModule.forRoot(odd({ maxAttempt: 5 })), 'maxAttempt', 'maxAttempts'],
  [
    'OutboxModule: onBacklog',
    () => OutboxModule.forRoot({ onBacklog: odd({ threshold: 1, notfy: () => {} }) }),
    'notfy',
    'notify',
  ],
  [
    'OutboxModule: onFailures',
    () =>
      OutboxModule.forRoot({ onFailures: odd({ threshold: 1, windowMs: 1, notify: () => {}, topics: 'a' }) }),
    'topics',
    undefined as never,
  ],
  [
    'OutboxDispatcher',
    () => new OutboxDispatcher(store, publish, odd({ concurency: 2 })),
    'concurency',
    'concurrency',
  ],
  [
    'OutboxWorker',
    () => new OutboxWorker(store, publish, odd({ pollIntervalMS: 2 })),
    'pollIntervalMS',
    'pollIntervalMs',
  ],
  ['EnqueuePipeline', () => new EnqueuePipeline(odd({ topic: {} })), 'topic', 'topics'],
  ['composeModules', () => composeModules([], odd({ preference: [] })), 'preference', 'preferences'],
  [
    'module Mine',
    () => composeModules([odd({ name: 'Mine', provide: [] }) as Module]),
    'provide',
    'provides',
  ],
  [
    'a provider of module Mine',
    () =>
      composeModules([{ name: 'Mine', provides: [odd({ provide: DispatchEvents, useFactroy: () => 1 })] }]),
    'useFactroy',
    'useFactory',
  ],
  [
    'MemoryOutboxStore',
    () => new MemoryOutboxStore(odd({ claimTimeoutMS: 1 })),
    'claimTimeoutMS',
    'claimTimeoutMs',
  ],
  [
    'SqlOutboxStore',
    () => new OwnStore(async () => [], odd({ claimTimeout: 1 })),
    'claimTimeout',
    'claimTimeoutMs',
  ],
  ...[
    SqlOutboxSchema,
    SqlOutboxWorkers,
    SqlOutboxPauses,
    SqlJobLock,
    SqlProcessedMessages,
    SqlDiagnostics,
  ].map((Capability): [string, () => unknown, string, string] => [
    Capability.name,
    () => new Capability(async () => [], odd({ tabel: 'x' })),
    'tabel',
    'table',
  ]),
  [
    'PostgresWakeup',
    () => new PostgresWakeup(async () => [], odd({ listenCleint: () => {} })),
    'listenCleint',
    'listenClient',
  ],
  ['createUuidv7', () => createUuidv7(odd({ ramdom: Math.random })), 'ramdom', 'random'],
  ['OutboxMemoryModule', () => OutboxMemoryModule.forRoot(odd({ tabel: 1 })), 'tabel', 'table'],
  ['PgOutboxStore', () => new PgOutboxStore(pool, odd({ tabel: 'x' })), 'tabel', 'table'],
  ['OutboxPgModule', () => OutboxPgModule.forRoot(odd({ pool, shema: 'x' })), 'shema', 'schema'],
  [
    'TypeormOutboxStore',
    () => new TypeormOutboxStore(dataSource, odd({ busyTimeout: 1 })),
    'busyTimeout',
    'busyTimeoutMs',
  ],
  [
    'OutboxTypeormModule',
    () => OutboxTypeormModule.forRoot(odd({ datasource: dataSource })),
    'datasource',
    'dataSource',
  ],
  ['typeormDatabase', () => typeormDatabase(dataSource, odd({ tables: 'x' })), 'tables', 'table'],
  ['outboxEntitiesFor', () => outboxEntitiesFor(odd({ types: 'mysql' })), 'types', 'type'],
  ['PrismaOutboxStore', () => new PrismaOutboxStore(client, odd({ wakeUp: false })), 'wakeUp', 'wakeup'],
  ['OutboxPrismaModule', () => OutboxPrismaModule.forRoot(odd({ clients: client })), 'clients', 'client'],
  [
    'OutboxSchedulerModule',
    () => OutboxSchedulerModule.forRoot(odd({ shedule: '* * * * *' })),
    'shedule',
    'schedule',
  ],
  ['CronerScheduler', () => new CronerScheduler([], odd({ event: undefined })), 'event', 'events'],
  [
    'OutboxDispatchJob',
    () => new OutboxDispatchJob(dispatcher, store, new DispatchEvents(), odd({ limits: 5 })),
    'limits',
    'limit',
  ],
  ['CronerScheduler', () => new CronerScheduler([], odd({ locks: {} })), 'locks', 'lock'],
  [
    'OutboxRetentionModule',
    () => OutboxRetentionModule.forRoot(odd({ retentionMS: 5 })),
    'retentionMS',
    'retentionMs',
  ],
  [
    'OutboxTelemetryModule',
    () => OutboxTelemetryModule.forRoot(odd({ attribute: {} })),
    'attribute',
    'attributes',
  ],
  ['OutboxEventsModule', () => OutboxEventsModule.forRoot(odd({ listener: [] })), 'listener', 'listeners'],
  [
    'OutboxEventsPublisher',
    () => new OutboxEventsPublisher(new MemoryEventBus(), odd({ onNoListner: 'release' })),
    'onNoListner',
    'onNoListener',
  ],
  [
    'onEvent(OutboxEvent)',
    () => onEvent(OutboxEvent, () => {}, odd({ name: 'x', topics: 'a' })),
    'topics',
    'topic',
  ],
  ['ScheduledMessagesModule', () => ScheduledMessagesModule.forRoot(odd({ retrys: {} })), 'retrys', 'retry'],
  [
    'ScheduledMessagesModule: retention',
    () => ScheduledMessagesModule.forRoot({ retention: odd({ failedAgeMS: 1 }) }),
    'failedAgeMS',
    'failedAgeMs',
  ],
  ['ScheduleService', () => new ScheduleService(store, odd({ piplene: 1 })), 'piplene', 'pipeline'],
  [
    'registerOutboxCommands',
    () => registerOutboxCommands(new Command(), app, odd({ shortName: true })),
    'shortName',
    'shortNames',
  ],
  [
    'OutboxModule',
    () => NestOutboxModule.forRoot(odd({ store: OutboxMemoryModule, poling: {} })),
    'poling',
    'polling',
  ],
  [
    'OutboxModule: polling',
    () => NestOutboxModule.forRoot({ store: OutboxMemoryModule, polling: odd({ intervall: 1 }) }),
    'intervall',
    'interval',
  ],
  [
    'OutboxModule: retry',
    () => NestOutboxModule.forRoot({ store: OutboxMemoryModule, retry: odd({ maxRetry: 1 }) }),
    'maxRetry',
    undefined as never,
  ],
  [
    'OutboxModule.forRootAsync',
    () => NestOutboxModule.forRootAsync(odd({ useFactry: () => ({}) })),
    'useFactry',
    'useFactory',
  ],
];

describe('an unknown option is rejected where it is set', () => {
  it.each(CONFIG)('%s', (where, call, written, meant) => {
    const advice = meant === undefined ? 'the options are ' : `did you mean '${meant}'?`;
    expect(call).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining(`${where}: unknown option '${written}': ${advice}`),
      }),
    );
  });

  it('by the decorator @OnEvent', () => {
    const decorate = OnEvent(OutboxEvent, odd({ name: 'x', topci: 'a' }));
    expect(() => {
      decorate({}, 'on', { value: () => {} });
    }).toThrow("@OnEvent on on: unknown option 'topci': did you mean 'topic'?");
  });

  it('by a config file of the command line', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'outbox-config-'));
    try {
      writeFileSync(join(folder, 'outbox.config.mjs'), 'export default { modules: [], preference: [] };');
      await expect(loadConfig(folder)).rejects.toThrow(
        "outbox.config.mjs: unknown option 'preference': did you mean 'preferences'?",
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('an unknown option of an error is refused', () => {
  it.each([
    [
      'PermanentError',
      () => new PermanentError('gone', odd({ reasom: 'x' })),
      "'reasom': did you mean 'reason'?",
    ],
    [
      'TransientError',
      () => new TransientError('busy', 5, odd({ couse: 1 })),
      "'couse': did you mean 'cause'?",
    ],
    [
      'UnavailableError',
      () => new UnavailableError('away', odd({ retryAfterMS: 5 })),
      "'retryAfterMS': did you mean 'retryAfterMs'?",
    ],
  ])('%s', (where, create, problem) => {
    expect(create).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: `${where}: unknown option ${problem}` }),
    );
  });
});

const health = new OutboxHealthIndicator({ app, options: { isPolling: true } } as never);
const processed = new SqlProcessedMessages(async () => [], {});

const CALLS: ReadonlyArray<[string, () => Promise<unknown>, string, string]> = [
  [
    'fetchPending',
    () => store.fetchPending(5, odd({ exceptTopic: ['a'] })),
    'INVALID_ARGUMENT',
    "'exceptTopics'?",
  ],
  [
    'isHealthy',
    () => health.isHealthy('outbox', odd({ maxOldestAgeMs: 5 })),
    'INVALID_ARGUMENT',
    'maxOldestPendingAgeMs',
  ],
  ['purge', () => processed.purge(odd({ ageMS: 5 })), 'INVALID_ARGUMENT', "'ageMs'?"],
  ['requeue', () => store.requeue('x', odd({ retrys: 5 })), 'INVALID_ARGUMENT', "'retry'?"],
  [
    'publishInWaves',
    () => publishInWaves([], async () => [], odd({ maxRow: 5 })),
    'INVALID_ARGUMENT',
    "'maxRows'?",
  ],
  ['entry 0', () => store.enqueue(odd({ topc: 'a', payload: 1 })), 'INVALID_ENTRY', "'topic'?"],
  [
    'entry 1',
    () => store.enqueue([entry, odd({ ...entry, avaliableAt: new Date() })]),
    'INVALID_ENTRY',
    "'availableAt'?",
  ],
  [
    'entry 0: retry',
    () => store.enqueue({ ...entry, retry: odd({ maxAttempt: 1 }) }),
    'INVALID_RETRY_POLICY',
    "'maxAttempts'?",
  ],
  [
    'entry 0: backoff',
    () => store.enqueue({ ...entry, retry: { backoff: odd({ type: 'fixed', delayMs: 1, maxDelay: 2 }) } }),
    'INVALID_RETRY_POLICY',
    "'maxDelayMs'?",
  ],
  ['markFailed', () => store.markFailed('x', 'y', odd({ delay: 5 })), 'INVALID_ARGUMENT', "'delayMs'?"],
  ['markDead', () => store.markDead('x', 'y', odd({ reasons: 5 })), 'INVALID_ARGUMENT', "'reason'?"],
  ['filter', () => store.requeueWhere(odd({ topics: 'a' }), 5), 'INVALID_ARGUMENT', "'topic'?"],
  ['filter', () => store.purgeDispatched({ ageMs: 1 }, odd({ topics: 'a' })), 'INVALID_ARGUMENT', "'topic'?"],
  ['peek', () => store.peek({}, 5, odd({ oder: 'oldest' })), 'INVALID_ARGUMENT', "'order'?"],
  [
    'olderThan',
    () => store.purgeDispatched(odd({ ageMs: 1, keepLatset: 5 })),
    'INVALID_ARGUMENT',
    "'keepLatest'?",
  ],
  ['start', () => app.start(odd({ onyl: 'resource' })), 'INVALID_ARGUMENT', "'only'?"],
  ['stop', () => app.stop(odd({ grace: 5 })), 'INVALID_ARGUMENT', "'graceMs'?"],
  ['runUntilSignal', () => runUntilSignal(app, odd({ graceMS: 5 })), 'INVALID_ARGUMENT', "'graceMs'?"],
  ['stop', () => worker.stop(odd({ graceMS: 5 })), 'INVALID_ARGUMENT', "'graceMs'?"],
  [
    'schedule',
    () => new ScheduleService(store).scheduleAt(odd({ ...schedule, timeZones: 'UTC' })),
    'INVALID_ENTRY',
    "'timezone'?",
  ],
  [
    'retry',
    () => new ScheduleService(store).scheduleAt({ ...schedule, retry: odd({ attempt: 5 }) }),
    'SCHEDULE_RETRY_POLICY_INVALID',
    "'attempts'?",
  ],
  ['list', () => new ScheduleService(store).list(odd({ state: 'failed' })), 'INVALID_ARGUMENT', "'status'?"],
];

describe('an unknown option of a call is rejected, and nothing is done', () => {
  it.each(CALLS)('%s', async (where, call, code, advice) => {
    await expect(call()).rejects.toThrow(
      expect.objectContaining({
        code,
        message: expect.stringMatching(`${where}: .*unknown option '.*${escaped(advice)}`),
      }),
    );
    expect((await store.count()).total).toBe(0);
  });
});

function escaped(text: string): string {
  return text.replaceAll('?', '\\?');
}
