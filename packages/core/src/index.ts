// The facade
export type { CreateOutboxOptions, Outbox } from './create-outbox.js';
export { createOutbox } from './create-outbox.js';
export type { OutboxHooks, OutboxModuleOptions } from './outbox-module.js';
export { OutboxModule } from './outbox-module.js';
export { runUntilSignal } from './modules/run-until-signal.js';

// Messages
export type { DeadReason } from './message/dead-reason.js';
export type { DispatchSummary } from './message/dispatch-summary.js';
export type {
  OutboxBacklog,
  OutboxCounts,
  OutboxEntry,
  OutboxHeaders,
  OutboxRow,
  OutboxState,
  OutboxTopic,
  OutboxTopics,
  PayloadOf,
  RowFilter,
} from './message/outbox-row.js';
export { stateOf } from './message/outbox-row.js';
export type { Outcome } from './message/outcome.js';
export { attemptsOf } from './message/outcome.js';
export type { PublishContext } from './message/publish-context.js';
export type { PeekOptions, RowOrder } from './message/row-filter.js';
export { orderOf, requeueFilter, statesOf } from './message/row-filter.js';
export type { StandardIssue, StandardResult, StandardSchema } from './message/standard-schema.js';
export { topicMatcher } from './message/topic-pattern.js';
export type { EntryFor, RowFor, TopicSchemas } from './message/topic-schemas.js';

// Errors
export { errorText } from './message/error-text.js';
export type { OutboxErrorCode, PermanentErrorOptions } from './message/errors.js';
export { isOutboxError, OutboxError, PermanentError, TransientError } from './message/errors.js';
export { maskSecrets } from './message/mask-secrets.js';
export type { HttpResponse } from './publish/error-from-response.js';
export { errorFromResponse } from './publish/error-from-response.js';

// Retries
export type { Decision } from './dispatch/decide.js';
export { decide } from './dispatch/decide.js';
export type { BackoffFunction, BackoffStrategies } from './message/backoff-strategies.js';
export type {
  BackoffOptions,
  DelayBackoff,
  Jitter,
  NamedBackoff,
  RetryOptions,
} from './message/retry-options.js';
export type { Random, RetryPolicy } from './message/retry-policy.js';
export { backoffDelayMs } from './message/retry-policy.js';

// Enqueuing
export type { EnqueueOptions, OutboxTopicSchemas } from './enqueue/enqueue-pipeline.js';
export { EnqueuePipeline } from './enqueue/enqueue-pipeline.js';
export type { NewRow } from './enqueue/new-row.js';
export type { Uuidv7Options } from './enqueue/uuidv7.js';
export { createUuidv7 } from './enqueue/uuidv7.js';

// Stores
export type { HeldLock } from './store/job-lock.js';
export { JobLock } from './store/job-lock.js';
export type { DiagnosticLimits } from './store/outbox-diagnostics.js';
export { OutboxDiagnostics } from './store/outbox-diagnostics.js';
export { OutboxDriver } from './store/outbox-driver.js';
export type { AdoptionPlan } from './store/outbox-schema.js';
export { OutboxSchema } from './store/outbox-schema.js';
export type { CancelResult, OutboxStoreOptions, PurgeCut, RequeueOptions } from './store/outbox-store.js';
export {
  assertFilter,
  assertLimit,
  assertOlderThan,
  assertPurgeFilter,
  assertRequeueOptions,
  notATransaction,
  OutboxStore,
  TransactionalOutboxStore,
} from './store/outbox-store.js';
export type { WakeupListener, WakeupStatus } from './store/outbox-wakeup.js';
export { OutboxWakeup } from './store/outbox-wakeup.js';
export { ProcessedMessages } from './store/processed-messages.js';
export type { StoreModule } from './store/store-module.js';

// Publishers
export type { PublishBatchContext, PublishFunction, PublishResult } from './publish/outbox-publisher.js';
export { OutboxPublisher } from './publish/outbox-publisher.js';
export type { OutboxRoute } from './publish/publisher-routes.js';
export { OutboxRoutes, routePublisher } from './publish/publisher-routes.js';

// Dispatching
export type { DispatcherOptions } from './dispatch/dispatch-engine.js';
export type { OutboxConfig } from './dispatch/outbox-config.js';
export { OutboxDispatcher } from './dispatch/outbox-dispatcher.js';
export type { WorkerHealth, WorkerOptions } from './worker/outbox-worker.js';
export { OutboxWorker } from './worker/outbox-worker.js';
export type { WorkerConfig } from './worker/worker-config.js';

// What happens
export type {
  DispatchEventListener,
  DispatchEventMap,
  DispatchEventName,
  FirstFailure,
} from './observe/dispatch-events.js';
export { DispatchEvents } from './observe/dispatch-events.js';
export type { FailureCount, FailureThreshold } from './observe/failure-count.js';
export type { OutboxInterceptor, PublishLayer, PublishStep } from './observe/interceptors.js';
export { OutboxInterceptors } from './observe/interceptors.js';
export type { OutboxCounter } from './observe/outbox-counters.js';
export { OutboxCounters } from './observe/outbox-counters.js';
export type { SchemaProblem } from './observe/schema-problem.js';
export type { OutboxLogger } from './observe/outbox-logger.js';

// Modules
export type { OptionNames } from './message/known-options.js';
export { assertKnownOptions, unknownOption } from './message/known-options.js';
export type { Clock } from './modules/clock.js';
export { systemClock } from './modules/clock.js';
export type { ComposeOptions, OutboxApp, StartOptions } from './modules/compose-modules.js';
export { composeModules } from './modules/compose-modules.js';
export type { ContributionsToken } from './modules/contributions.js';
export { Contributions } from './modules/contributions.js';
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
export type { Token, TokenKey } from './modules/token.js';
export { nameToken, tokenKey } from './modules/token.js';
