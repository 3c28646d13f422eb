import type {
  OutboxModuleOptions as CoreOptions,
  Module,
  OutboxPublisher,
  OutboxStoreOptions,
  PublishFunction,
  Token,
  TransactionalOutboxStore,
} from '@postcommit/core';
import type { NoListenerPolicy } from '@postcommit/publisher-events';
import type { PrismaClientLike } from '@postcommit/store-prisma';

export interface PollingOptions {
  /**
   * `false` in an instance that only emits.
   *
   * @default true
   */
  readonly enabled?: boolean | undefined;
  /**
   * The longest time between two polls, in milliseconds.
   *
   * @default 5_000
   */
  readonly interval?: number | undefined;
  /**
   * Events claimed at once.
   *
   * @default 100
   */
  readonly batchSize?: number | undefined;
}

export interface RetryModuleOptions {
  /**
   * Attempts before an event is FAILED, including the first. Stored with each event when it is emitted.
   *
   * @default 5
   */
  readonly maxRetries?: number | undefined;
  /**
   * `exponential` doubles the wait after each failure.
   *
   * @default 'exponential'
   */
  readonly backoff?: 'fixed' | 'exponential' | undefined;
  /**
   * The wait after the first failure, in milliseconds.
   *
   * @default 1_000
   */
  readonly initialDelay?: number | undefined;
}

/** Any store that writes inside the caller's transaction. */
// biome-ignore lint/suspicious/noExplicitAny: the transactions of every driver.
export type AnyStore = TransactionalOutboxStore<any>;

/**
 * The module of a store, which also provides its schema and locks; a store; or a function that creates one. A store that
 * you created yourself keeps its own `claimTimeoutMs` and ignores `topics` and the interceptors of `modules`.
 */
export type StoreSource = Module | AnyStore | ((options: Required<OutboxStoreOptions>) => AnyStore);

/** A publisher, or the class of a publisher that the application provides. */
export type PublisherSource = OutboxPublisher | PublishFunction | Token<OutboxPublisher>;

/** Options passed to the core unchanged. */
type Passed = Pick<
  CoreOptions,
  | 'concurrency'
  | 'publishTimeoutMs'
  | 'maxRetakes'
  | 'maxAgeMs'
  | 'takeoverAfterMs'
  | 'topics'
  | 'maxPayloadBytes'
  | 'backoffStrategies'
  | 'onFirstFailure'
  | 'onDead'
  | 'onFailures'
  | 'onBacklog'
>;

/** The options of `forRoot`, and the result of the factory of `forRootAsync`. */
export interface OutboxModuleOptions extends Passed {
  /** Your Prisma client, or its class if the application provides it. Shorthand for `store`. */
  readonly prisma?: Token<PrismaClientLike> | PrismaClientLike | undefined;
  /** Any other store. */
  readonly store?: StoreSource | undefined;
  readonly polling?: PollingOptions | undefined;
  readonly retry?: RetryModuleOptions | undefined;
  /**
   * How long an event may be PROCESSING, in milliseconds, before another process takes it over. If you set it,
   * `takeoverAfterMs` is false unless you set that too.
   *
   * @default 300_000
   */
  readonly stuckThreshold?: number | undefined;
  /** Receives all events instead of the `@OnOutboxEvent` methods of this process. */
  readonly publisher?: PublisherSource | undefined;
  /** Another name for `publisher`. */
  readonly transport?: PublisherSource | undefined;
  /**
   * What happens to an event that no `@OnOutboxEvent` method of this process handles. `dead`: it is FAILED at once.
   * `release`, for rolling deployments: it counts an attempt and waits for an instance with a handler, 5 s at first, then
   * 10, 20, up to 300 s, and is FAILED after `maxRetries`. `complete`: it is SENT.
   *
   * @default 'dead'
   */
  readonly onNoListener?: NoListenerPolicy | undefined;
  /**
   * How long handlers may take to finish when the application shuts down, in milliseconds.
   *
   * @default 10_000
   */
  readonly shutdownGraceMs?: number | undefined;
  /** Further Postcommit modules, e.g. `OutboxTelemetryModule`. */
  readonly modules?: readonly Module[] | undefined;
}

/** Options beside the factory of `forRootAsync`: Nest needs them before the factory runs. */
export interface OutboxModuleExtras {
  /**
   * Whether every module of the application may inject what this one provides.
   *
   * @default true
   */
  readonly isGlobal?: boolean | undefined;
  /**
   * As in `OutboxModuleOptions`. Only the tokens of modules listed here can be injected, not those of modules that the
   * factory returns.
   */
  readonly modules?: readonly Module[] | undefined;
  /** Further tokens to make injectable, e.g. those of a store that only the factory knows. */
  readonly tokens?: readonly Token[] | undefined;
}
