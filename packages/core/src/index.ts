// The facade
export type { CreateOutboxOptions, Outbox } from './create-outbox.js';
export { createOutbox } from './create-outbox.js';
export type { OutboxModuleOptions } from './outbox-module.js';
export { OutboxModule } from './outbox-module.js';
export { runUntilSignal } from './modules/run-until-signal.js';

// Messages
export type { DeadReason } from './message/dead-reason.js';
export type { DispatchSummary } from './message/dispatch-summary.js';
export type {
  OutboxBacklog,
  OutboxCounts,
  OutboxEntry,
  OutboxRow,
  OutboxState,
  OutboxTopic,
  OutboxTopics,
  PayloadOf,
  RowFilter,
} from './message/outbox-row.js';
export { stateOf } from './message/outbox-row.js';
export type { PublishContext } from './message/publish-context.js';

// Errors
export type { OutboxErrorCode } from './message/errors.js';
export {
  isOutboxError,
  OutboxError,
  PermanentError,
  TransientError,
  UnavailableError,
} from './message/errors.js';
export { errorFromResponse } from './publish/error-from-response.js';

// Retries
export type { BackoffOptions, RetryOptions } from './message/retry-options.js';

// Publishers
export type {
  PublishBatchContext,
  PublisherCheckContext,
  PublisherHealth,
  PublisherProblem,
  PublishFunction,
  PublishResult,
} from './publish/outbox-publisher.js';
export { OutboxPublisher } from './publish/outbox-publisher.js';
export type { OutboxRoute } from './publish/publisher-routes.js';
export { OutboxRoutes, routePublisher } from './publish/publisher-routes.js';
export type { EncodedMessage, MessageFormat } from './publish/message-format.js';
export { publishInWaves } from './publish/publish-in-waves.js';

// Dispatching
export { OutboxDispatcher } from './dispatch/outbox-dispatcher.js';
export type { WorkerHealth } from './worker/outbox-worker.js';
export { OutboxWorker } from './worker/outbox-worker.js';

// What happens
export type { DispatchEventMap } from './observe/dispatch-events.js';
export { DispatchEvents } from './observe/dispatch-events.js';
export type { OutboxInterceptor } from './observe/interceptors.js';
export { OutboxInterceptors } from './observe/interceptors.js';
export { OutboxCounters } from './observe/outbox-counters.js';
export type { OutboxLogger } from './observe/outbox-logger.js';
export type { SchemaProblem } from './observe/schema-problem.js';

// Stores
export { JobLock } from './store/job-lock.js';
export { OutboxPauses } from './store/outbox-pauses.js';
export { OutboxSchema } from './store/outbox-schema.js';
export { OutboxStore } from './store/outbox-store.js';
export { OutboxWakeup } from './store/outbox-wakeup.js';
export { ProcessedMessages } from './store/processed-messages.js';
export type { StoreModule } from './store/store-module.js';

// Writing a store
export { EnqueuePipeline } from './enqueue/enqueue-pipeline.js';
export type { NewRow } from './enqueue/new-row.js';
export type { Outcome } from './message/outcome.js';
export type { PeekOptions } from './message/row-filter.js';
export type { OutboxStoreOptions } from './store/outbox-store.js';
export { notATransaction, TransactionalOutboxStore } from './store/outbox-store.js';
export type { CancelResult, PurgeCut, RequeueOptions } from './store/row-operations.js';

// Modules
export type { Clock } from './runtime/timing.js';
export type { OutboxApp } from './modules/compose-modules.js';
export { composeModules } from './modules/compose-modules.js';
export { Contributions } from './modules/contributions.js';
export { Inject, Injectable } from './modules/inject.js';
export type { Lifecycle, StopOptions } from './modules/lifecycle.js';
export { Lifecycles } from './modules/lifecycle.js';
export type { Contribution, Module, OptionalToken, Provider } from './modules/module.js';
export { contributeFactory, optional, provideFactory } from './modules/module.js';
export type { Token } from './modules/token.js';
