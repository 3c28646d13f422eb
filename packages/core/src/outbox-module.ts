import { CONFIG_NAMES, type OutboxConfig, resolveConfig } from './dispatch/outbox-config.js';
import { OutboxDispatcher } from './dispatch/outbox-dispatcher.js';
import { type EnqueueOptions, EnqueuePipeline } from './enqueue/enqueue-pipeline.js';
import { OutboxError } from './message/errors.js';
import { assertKnownOptions, type OptionNames } from './message/known-options.js';
import { type Lifecycle, Lifecycles } from './modules/lifecycle.js';
import {
  type Contribution,
  contributeFactory,
  lazy,
  type Module,
  optional,
  type Provider,
  provideFactory,
} from './modules/module.js';
import { DispatchEvents } from './observe/dispatch-events.js';
import { OutboxInterceptors } from './observe/interceptors.js';
import { logEvents } from './observe/log-events.js';
import { assertHooks, callHooks, HOOK_NAMES, type OutboxHooks } from './observe/outbox-hooks.js';
import type { OutboxLogger } from './observe/outbox-logger.js';
import { OutboxPublisher, type PublishFunction, toPublisher } from './publish/outbox-publisher.js';
import { OutboxRoutes, RoutedPublisher } from './publish/publisher-routes.js';
import { PublisherRuns } from './publish/publisher-runs.js';
import { systemClock } from './runtime/timing.js';
import { OutboxDriver } from './store/outbox-driver.js';
import { OutboxSchema } from './store/outbox-schema.js';
import { OutboxStore } from './store/outbox-store.js';
import { OutboxWakeup } from './store/outbox-wakeup.js';
import { OutboxWorkers } from './store/outbox-workers.js';
import { schemaCheck } from './store/schema-check.js';
import { OutboxWorker } from './worker/outbox-worker.js';
import { resolveWorkerConfig, WORKER_CONFIG_NAMES, type WorkerConfig } from './worker/worker-config.js';
import { takeoverMs } from './worker/worker-watch.js';

export interface OutboxModuleOptions
  extends Partial<OutboxConfig>,
    Omit<Partial<WorkerConfig>, 'backlogThreshold'>,
    OutboxHooks,
    Pick<EnqueueOptions, 'topics' | 'maxPayloadBytes'> {
  /** Publishes rows. The same as a preference that binds `OutboxPublisher`. */
  readonly publisher?: OutboxPublisher | PublishFunction | undefined;
  /** Logs what an operator needs to know, one line per event and never a payload. @default nothing is logged */
  readonly logger?: OutboxLogger | undefined;
  /** Whether `app.start()` runs the worker. False in a process that only enqueues. @default true */
  readonly worker?: boolean;
}

const { backlogThreshold: _, ...WORKER_NAMES } = WORKER_CONFIG_NAMES;
export const OUTBOX_MODULE_NAMES: OptionNames<OutboxModuleOptions> = {
  publisher: true,
  ...CONFIG_NAMES,
  ...WORKER_NAMES,
  ...HOOK_NAMES,
  topics: true,
  maxPayloadBytes: true,
  worker: true,
  logger: true,
};

/** The dependencies of the dispatcher and the worker. */
const ENGINE = [
  OutboxStore,
  optional(OutboxPublisher),
  OutboxRoutes,
  OutboxInterceptors,
  EnqueuePipeline,
  DispatchEvents,
  PublisherRuns,
] as const;

const SCHEMA_CHECK: Contribution<Lifecycle> = contributeFactory(
  Lifecycles,
  [optional(OutboxSchema), DispatchEvents],
  schemaCheck,
);

/** Emits the store's problems as events between start and stop, whether or not a worker runs. */
const STORE_PROBLEMS: Contribution<Lifecycle> = contributeFactory(
  Lifecycles,
  [OutboxStore, DispatchEvents],
  (store, events) => {
    let unsubscribe = (): void => {};
    return {
      name: 'OutboxStore problems',
      phase: 'resource',
      start: () => {
        unsubscribe = store.onProblem((error) => events.emit('storeProblem', { error }));
      },
      stop: () => unsubscribe(),
    };
  },
);

/**
 * Connects before the worker starts, so that a wrong option fails the start and not every row. `app.stop()` stops them
 * after everything that publishes.
 */
const PUBLISHERS: Contribution<Lifecycle> = contributeFactory(
  Lifecycles,
  [optional(OutboxPublisher), OutboxRoutes, PublisherRuns],
  (bound, routes, runs) => ({
    name: 'OutboxPublisher',
    start: () => runs.start(withRoutes(bound, routes)),
    stop: () => {},
  }),
);

/** Runs the worker, unless an `OutboxDriver` is bound. */
const WORKER_LIFECYCLE: Contribution<Lifecycle> = contributeFactory(
  Lifecycles,
  // Created only when it runs: commands that only inspect the outbox need no publisher.
  [lazy(OutboxWorker), optional(OutboxDriver)],
  (worker, driver) => ({
    name: 'OutboxWorker',
    start: () => {
      if (!driver) worker().start();
    },
    stop: async (options) => {
      if (!driver) await worker().stop(options);
    },
  }),
);

/**
 * The core module: the enqueue pipeline, the dispatcher and the worker. Compose it with one store module. Use it as it
 * is for the defaults, or call `forRoot` with options.
 */
export const OutboxModule: Module & { forRoot(options?: OutboxModuleOptions): Module } = {
  ...outboxModule({}),
  forRoot: (options = {}) => outboxModule(options),
};

function outboxModule(options: OutboxModuleOptions): Module {
  assertKnownOptions('OutboxModule', options, OUTBOX_MODULE_NAMES);
  const { publisher, worker = true, logger: _, topics, maxPayloadBytes, ...rest } = options;
  const { onFirstFailure, onDead, onFailures, onBacklog, ...both } = rest;
  const { pollIntervalMs, batchesInFlight, maxBytesInFlight, takeoverAfterMs, ...config } = both;
  const enqueuing = {
    ...(topics && { topics }),
    ...(maxPayloadBytes !== undefined && { maxPayloadBytes }),
    ...knownStrategies(options),
  };
  const working = {
    ...both,
    ...(onBacklog && { backlogThreshold: onBacklog.threshold }),
  };
  // Fail here, where the options were written, and not at the first entry.
  resolveConfig(config);
  resolveWorkerConfig(working);
  new EnqueuePipeline(enqueuing);
  assertHooks(options);
  return {
    name: 'OutboxModule',
    provides: [
      {
        provide: DispatchEvents,
        useFactory: () => eventsWith(options),
      },
      provideFactory(
        EnqueuePipeline,
        [OutboxInterceptors],
        (interceptors) => new EnqueuePipeline({ ...enqueuing, interceptors }),
      ),
      provideFactory(
        OutboxDispatcher,
        ENGINE,
        (store, bound, routes, interceptors, pipeline, events, publisherRuns) =>
          new OutboxDispatcher(store, withRoutes(bound, routes), {
            ...config,
            interceptors,
            pipeline,
            events,
            publisherRuns,
          }),
      ),
      provideFactory(
        OutboxWorker,
        [...ENGINE, optional(OutboxWakeup), optional(OutboxWorkers)],
        (store, bound, routes, interceptors, pipeline, events, publisherRuns, wakeup, workers) =>
          new OutboxWorker(store, withRoutes(bound, routes), {
            ...working,
            interceptors,
            pipeline,
            events,
            publisherRuns,
            wakeup,
            workers,
          }),
      ),
      provideFactory(
        PublisherRuns,
        [OutboxStore, DispatchEvents],
        (store, events) =>
          new PublisherRuns(events, { redeliveryAfterMs: redeliveryAfterMs(working, store) }),
      ),
      ...publisherProvider(publisher),
    ],
    contributes: [STORE_PROBLEMS, SCHEMA_CHECK, ...(worker ? [PUBLISHERS, WORKER_LIFECYCLE] : [])],
  };
}

/** Without a takeover, the claims of a process that died have to expire. */
function redeliveryAfterMs(options: OutboxModuleOptions, { claimTimeoutMs }: OutboxStore): number {
  const { takeoverAfterMs } = resolveWorkerConfig(options);
  const { publishTimeoutMs } = resolveConfig(options);
  return takeoverAfterMs === false ? claimTimeoutMs : takeoverMs(takeoverAfterMs, publishTimeoutMs);
}

function eventsWith({ logger, ...hooks }: OutboxModuleOptions): DispatchEvents {
  const events = new DispatchEvents();
  if (logger) logEvents(events, logger, systemClock);
  callHooks(events, hooks);
  return events;
}

/**
 * A process that only enqueues may not know the strategies of the dispatchers, so it checks names only if given some.
 */
function knownStrategies(options: OutboxModuleOptions): Pick<EnqueueOptions, 'backoffStrategies'> {
  const { worker = true, backoffStrategies = worker ? {} : undefined } = options;
  return backoffStrategies ? { backoffStrategies } : {};
}

function publisherProvider(publisher: OutboxPublisher | PublishFunction | undefined): Provider[] {
  return publisher === undefined ? [] : [{ provide: OutboxPublisher, useValue: toPublisher(publisher) }];
}

/** Contributed routes come first: the application's publisher never sees their rows. */
function withRoutes(publisher: OutboxPublisher | undefined, routes: OutboxRoutes): OutboxPublisher {
  if (!publisher && routes.items.length === 0) {
    throw new OutboxError(
      'MISSING_BINDING',
      'OutboxPublisher is not bound, so there is nowhere to send rows: use OutboxModule.forRoot({ publisher }), compose a publisher module, or add preferences: [{ provide: OutboxPublisher, useClass: … }]; if the application only enqueues, use OutboxModule.forRoot({ worker: false })',
    );
  }
  if (routes.items.length === 0 && publisher) return publisher;
  const rest = publisher ? [{ name: 'OutboxPublisher', matches: () => true, publisher }] : [];
  return new RoutedPublisher([...routes, ...rest]);
}
