// Entries and rows

// Capabilities
export type {
  DiagnosticLimits,
  HeldLock,
  SchemaProblem,
  WakeupListener,
  WakeupStatus,
} from './capabilities.js';
export {
  JobLock,
  OutboxDiagnostics,
  OutboxDriver,
  OutboxSchema,
  OutboxWakeup,
  ProcessedMessages,
} from './capabilities.js';
export type { Clock } from './clock.js';
export { systemClock } from './clock.js';
export type { Decision } from './decide.js';
export { decide } from './decide.js';
// Dispatching
export type { DispatcherOptions } from './dispatch-engine.js';
export type { EnqueueOptions, NewRow, OutboxSchemas } from './enqueue.js';
export { EnqueuePipeline } from './enqueue.js';
export type { HttpResponse } from './error-from-response.js';
export { errorFromResponse } from './error-from-response.js';
export { errorText } from './error-text.js';
// Errors
export type { OutboxErrorCode, PermanentErrorOptions } from './errors.js';
export { isOutboxError, OutboxError, PermanentError, TransientError } from './errors.js';
export type { OutboxInterceptor, PublishLayer, PublishStep } from './interceptors.js';
export { OutboxInterceptors } from './interceptors.js';
export type { ComposeOptions, OutboxApp, StartOptions } from './modules/compose-modules.js';
export { composeModules } from './modules/compose-modules.js';
export { Inject, Injectable } from './modules/inject.js';
export type { Lifecycle, StopOptions } from './modules/lifecycle.js';
export { Lifecycles } from './modules/lifecycle.js';
export type {
  Contribution,
  Dependency,
  LazyToken,
  Module,
  OptionalToken,
  Provider,
  Recipe,
} from './modules/module.js';
export { contributeFactory, lazy, optional, provideFactory } from './modules/module.js';
export type { PoolToken } from './modules/pool.js';
export { Pool } from './modules/pool.js';
export type { Token, TokenKey } from './modules/token.js';
export { nameToken, tokenKey } from './modules/token.js';
export type { OutboxConfig } from './outbox-config.js';
export type { DispatchSummary } from './outbox-dispatcher.js';
export { OutboxDispatcher } from './outbox-dispatcher.js';
// Modules
export type { OutboxHooks, OutboxModuleOptions } from './outbox-module.js';
export { OutboxModule } from './outbox-module.js';
// Publishers
export type {
  PublishBatchContext,
  PublishContext,
  PublishFunction,
  PublishResult,
} from './outbox-publisher.js';
export { OutboxPublisher } from './outbox-publisher.js';
export type {
  DeadReason,
  OutboxBacklog,
  OutboxCounts,
  OutboxEntry,
  OutboxHeaders,
  OutboxRow,
  OutboxState,
  OutboxTopic,
  OutboxTopics,
  PayloadOf,
  RetryOptions,
  RowFilter,
} from './outbox-row.js';
export { stateOf } from './outbox-row.js';
export type { OutboxSignal, OutboxSignalListener, OutboxSignalMap } from './outbox-signals.js';
export { OutboxSignals } from './outbox-signals.js';
// Stores
export type { CancelResult, OutboxStoreOptions, RequeueOptions } from './outbox-store.js';
export {
  assertLimit,
  assertOlderThan,
  assertRequeueOptions,
  notATransaction,
  OutboxStore,
  TransactionalOutboxStore,
} from './outbox-store.js';
export type { WorkerHealth, WorkerOptions } from './outbox-worker.js';
export { OutboxWorker } from './outbox-worker.js';
export type { Outcome } from './outcome.js';
export { attemptsOf } from './outcome.js';
export type { OutboxRoute } from './publisher-routes.js';
export { OutboxRoutes, routePublisher } from './publisher-routes.js';
// Retries
export type { BackoffFunction, BackoffOptions, Jitter, Random, RetryPolicy } from './retry-policy.js';
export { backoffDelayMs } from './retry-policy.js';
export type { PeekOptions, RowOrder } from './row-filter.js';
export { orderOf, requeueFilter, statesOf } from './row-filter.js';
export type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.js';
export { topicMatcher } from './topic-pattern.js';
export type { Uuidv7Options } from './uuidv7.js';
export { createUuidv7 } from './uuidv7.js';
export type { WorkerConfig } from './worker-config.js';
