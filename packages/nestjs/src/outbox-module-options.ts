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
  /** False in an instance that only emits. Default true. */
  readonly enabled?: boolean | undefined;
  /** The longest wait between two looks for due events, in milliseconds. Default 5,000. */
  readonly interval?: number | undefined;
  /** Events claimed at once. Default 100. */
  readonly batchSize?: number | undefined;
}

export interface RetryModuleOptions {
  /** Tries of an event, the first one included, before it is FAILED. Frozen with it when it is emitted. Default 5. */
  readonly maxRetries?: number | undefined;
  /** `exponential` doubles the wait after each failure. Default `exponential`. */
  readonly backoff?: 'fixed' | 'exponential' | undefined;
  /** The wait after the first failure, in milliseconds. Default 1,000. */
  readonly initialDelay?: number | undefined;
}

/** Any store that writes inside the caller's transaction. */
// biome-ignore lint/suspicious/noExplicitAny: the transactions of every driver.
export type AnyStore = TransactionalOutboxStore<any>;

/**
 * The module of a store, which brings its schema and locks too; or a store, made by you or by a function. A store that
 * you made keeps its own `claimTimeoutMs` and knows nothing of `topics` and of the interceptors of `modules`.
 */
export type StoreSource = Module | AnyStore | ((options: Required<OutboxStoreOptions>) => AnyStore);

/** A publisher, or the class of one that is a provider of the application. */
export type PublisherSource = OutboxPublisher | PublishFunction | Token<OutboxPublisher>;

/** What goes to the core as it is. */
type Passed = Pick<
  CoreOptions,
  | 'concurrency'
  | 'publishTimeoutMs'
  | 'maxRetakes'
  | 'topics'
  | 'maxPayloadBytes'
  | 'backoffStrategies'
  | 'onFirstFailure'
  | 'onDead'
  | 'onFailures'
  | 'onBacklog'
>;

/** What `forRoot` takes, and what the factory of `forRootAsync` gives. */
export interface OutboxModuleOptions extends Passed {
  /** The class of your Prisma client, a provider of the application, or a client. Short for a `store`. */
  readonly prisma?: Token<PrismaClientLike> | PrismaClientLike | undefined;
  /** Every other store. */
  readonly store?: StoreSource | undefined;
  readonly polling?: PollingOptions | undefined;
  readonly retry?: RetryModuleOptions | undefined;
  /** An event that is PROCESSING for so long, in milliseconds, lost its process and is taken over. Default 300,000. */
  readonly stuckThreshold?: number | undefined;
  /** Where events go instead of to the `@OnOutboxEvent` methods of this process. */
  readonly publisher?: PublisherSource | undefined;
  /** Another word for `publisher`. */
  readonly transport?: PublisherSource | undefined;
  /**
   * What becomes of an event that no `@OnOutboxEvent` method of this process handles: `dead`, FAILED at once; `release`,
   * which counts a try and leaves it to another instance, after 5 s at first, then 10, 20, up to 300 s, FAILED after
   * `maxRetries`; `complete`, SENT. Default `dead`; `release` is for rolling deployments.
   */
  readonly onNoListener?: NoListenerPolicy | undefined;
  /** How long handlers may take to end when the application shuts down. Default 10,000. */
  readonly shutdownGraceMs?: number | undefined;
  /** Further modules of this family, telemetry for one. */
  readonly modules?: readonly Module[] | undefined;
}

/** What stands beside the factory of `forRootAsync`, since Nest has to know it before the factory runs. */
export interface OutboxModuleExtras {
  /** Whether every module of the application may inject what this one provides. Default true. */
  readonly isGlobal?: boolean | undefined;
  /** As in `OutboxModuleOptions`; only what is named here, not what the factory gives, can be injected by its tokens. */
  readonly modules?: readonly Module[] | undefined;
  /** Further tokens of the outbox to inject by: those of a store that only the factory knows. */
  readonly tokens?: readonly Token[] | undefined;
}
