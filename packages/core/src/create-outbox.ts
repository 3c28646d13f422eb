import { OutboxDispatcher } from './dispatch/outbox-dispatcher.js';
import type { DispatchSummary } from './message/dispatch-summary.js';
import { OutboxError } from './message/errors.js';
import { assertKnownOptions, type OptionNames } from './message/known-options.js';
import type { PublishContext } from './message/publish-context.js';
import type { EntryFor, RowFor, TopicSchemas } from './message/topic-schemas.js';
import { composeModules, type OutboxApp } from './modules/compose-modules.js';
import type { StopOptions } from './modules/lifecycle.js';
import type { Module } from './modules/module.js';
import { type RunOptions, runUntilSignal, type StopSignal } from './modules/run-until-signal.js';
import {
  type DispatchEventListener,
  type DispatchEventName,
  DispatchEvents,
} from './observe/dispatch-events.js';
import { type OutboxLogger, standardErrorLogger } from './observe/outbox-logger.js';
import type { SchemaProblem } from './observe/schema-problem.js';
import { OUTBOX_MODULE_NAMES, OutboxModule, type OutboxModuleOptions } from './outbox-module.js';
import type { OutboxPublisher } from './publish/outbox-publisher.js';
import { OutboxSchema } from './store/outbox-schema.js';
import type { TransactionalOutboxStore } from './store/outbox-store.js';
import type { StoreModule } from './store/store-module.js';
import { OutboxWorker, type WorkerHealth } from './worker/outbox-worker.js';

export interface CreateOutboxOptions<Tx, Topics extends TopicSchemas>
  extends Omit<OutboxModuleOptions, 'publisher' | 'topics' | 'logger'> {
  /** Where rows are stored: `pgStore(pool)`, `typeormStore(dataSource)`, `prismaStore(client)`, `memoryStore()`. */
  readonly store: StoreModule<Tx>;
  /** Publishes a row. Optional in a process that only enqueues, with `worker: false`. */
  readonly publisher?:
    | OutboxPublisher
    | ((row: RowFor<NoInfer<Topics>>, context: PublishContext) => Promise<unknown>);
  /** A Standard Schema for each topic. Entries and rows get their types from them; other topics don't compile. */
  readonly topics?: Topics;
  /** Additional modules, such as telemetry, retention or scheduled messages. */
  readonly modules?: readonly Module[];
  /** Logs what an operator needs to know; `false` disables it. @default one line per event on standard error */
  readonly logger?: OutboxLogger | false;
}

const OPTION_NAMES: OptionNames<CreateOutboxOptions<unknown, TopicSchemas>> = {
  ...OUTBOX_MODULE_NAMES,
  store: true,
  modules: true,
};

/** An outbox: the store to enqueue into, and the worker that publishes what was committed. */
export interface Outbox<Tx, Topics extends TopicSchemas> {
  /**
   * Stores entries inside your transaction: they are published if, and only if, it commits. Returns their ids.
   *
   * @throws `INVALID_TRANSACTION` if the handle is not an open transaction.
   */
  enqueueWith(tx: Tx, entries: EntryFor<Topics> | ReadonlyArray<EntryFor<Topics>>): Promise<string[]>;
  /** Stores entries in a transaction of their own: all or none. Returns their ids. */
  enqueue(entries: EntryFor<Topics> | ReadonlyArray<EntryFor<Topics>>): Promise<string[]>;
  /** Creates or upgrades the outbox tables. Does nothing when they are up to date. */
  migrate(): Promise<void>;
  /** Returns what differs from the tables the store needs. Empty when all is well. */
  check(): Promise<SchemaProblem[]>;
  /** Checks the tables and starts the worker. */
  start(): Promise<void>;
  /** Stops the worker. Publishes in flight have `graceMs` (default 10 s) to finish. */
  stop(options?: StopOptions): Promise<void>;
  /** Waits for SIGTERM or SIGINT, or until `until` settles, then stops. Resolves with the signal, if there was one. */
  runUntilSignal(options?: RunOptions): Promise<StopSignal | undefined>;
  /** Publishes one batch now, whether or not the worker runs. */
  dispatchPending(limit?: number): Promise<DispatchSummary>;
  /** Returns the state of the worker, for a health check. */
  health(): Promise<WorkerHealth>;
  /** Registers a listener for what happens to rows and to the worker. Returns an unsubscribe function. */
  on<Name extends DispatchEventName>(name: Name, listener: DispatchEventListener<Name>): () => void;
  /** For operations: `count`, `peek`, `requeue`, `cancel` and the like. */
  readonly store: TransactionalOutboxStore<Tx>;
  /** The composed application, for containers. */
  readonly app: OutboxApp;
}

/**
 * Creates an outbox. It is `composeModules` with `OutboxModule` and a store, for applications without a container.
 *
 * @example
 * const outbox = createOutbox({
 *   store: pgStore(pool),
 *   publisher: (row) => broker.send(row.topic, row.payload, { messageId: row.id }),
 * });
 */
// biome-ignore lint/complexity/noBannedTypes: no topic is declared.
export function createOutbox<Tx, const Topics extends TopicSchemas = {}>(
  options: CreateOutboxOptions<Tx, Topics>,
): Outbox<Tx, Topics> {
  assertKnownOptions<object>('createOutbox', options, OPTION_NAMES);
  const { store: storeModule, topics, modules = [], logger = standardErrorLogger, ...rest } = options ?? {};
  if (typeof storeModule?.store !== 'function')
    throw new OutboxError(
      'INVALID_CONFIG',
      'createOutbox: store must be a store module, such as pgStore(pool)',
    );
  const settings = { ...rest, ...(topics && { topics }), ...(logger && { logger }) };
  const app = composeModules([
    OutboxModule.forRoot(settings as OutboxModuleOptions),
    storeModule,
    ...modules,
  ]);
  const store = app.get(storeModule.store);
  return {
    enqueueWith: store.enqueueWith.bind(store),
    enqueue: store.enqueue.bind(store),
    migrate: async () => {
      if (app.has(OutboxSchema)) await app.get(OutboxSchema).ensure();
    },
    check: async () => (app.has(OutboxSchema) ? app.get(OutboxSchema).check() : []),
    start: () => app.start(),
    stop: (stopOptions) => app.stop(stopOptions),
    runUntilSignal: (runOptions) => runUntilSignal(app, runOptions),
    dispatchPending: (limit) => app.get(OutboxDispatcher).dispatchPending(limit),
    health: () => app.get(OutboxWorker).health(),
    on: (name, listener) => app.get(DispatchEvents).on(name, listener),
    store,
    app,
  };
}
