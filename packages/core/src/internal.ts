// For the packages of this repository; not covered by semver.

// Options
export type { OptionNames } from './message/known-options.js';
export { assertKnownOptions } from './message/known-options.js';
export { assertTimerDelay, assertWholeNumber, isTimerDelay, MAX_TIMER_MS } from './message/option-checks.js';
export { unknownOption } from './message/unknown-option.js';

// Rows
export { createUuidv7 } from './enqueue/uuidv7.js';
export type { DeadCount } from './message/dead-count.js';
export { countDead } from './message/dead-count.js';
export { errorText } from './message/error-text.js';
export { maskSecrets } from './message/mask-secrets.js';
export type { OutboxHeaders } from './message/outbox-row.js';
export { attemptsOf } from './message/outcome.js';
export type { DelayBackoff } from './message/retry-options.js';
export type { Random } from './message/retry-policy.js';
export { backoffDelayMs } from './message/retry-policy.js';
export type { RowOrder } from './message/row-filter.js';
export { orderOf, requeueFilter, statesOf } from './message/row-filter.js';
export { topicMatcher } from './message/topic-pattern.js';

// Writing a store
export type { ClaimOptions } from './store/claim-options.js';
export type { LookAhead } from './store/look-ahead.js';
export { OutboxDriver } from './store/outbox-driver.js';
export { assertClaimOptions, assertLimit, assertOlderThan } from './store/outbox-store.js';
export { assertFilter, assertPurgeFilter, assertRequeueOptions } from './store/row-operations.js';

// Capabilities of a store
export type { HeldLock } from './store/job-lock.js';
export type { DiagnosticLimits } from './store/outbox-diagnostics.js';
export { OutboxDiagnostics } from './store/outbox-diagnostics.js';
export type { PausedTopic } from './store/outbox-pauses.js';
export type { AdoptionPlan } from './store/outbox-schema.js';
export type { HintKind, WakeupListener, WakeupStatus } from './store/outbox-wakeup.js';
export type {
  WorkerIdentity,
  WorkerOutage,
  WorkerRecord,
  WorkerReport,
  WorkerSighting,
} from './store/outbox-workers.js';
export { OutboxWorkers, tokenPrefix, workerOf, workerToken } from './store/outbox-workers.js';
export { HEARTBEAT_MS } from './worker/worker-watch.js';

// Dispatching
export type { DispatcherOptions } from './dispatch/dispatch-engine.js';
export type { PublishLayer, PublishStep } from './observe/interceptors.js';

// Writing a publisher
export { absenceOf } from './publish/absence.js';
export {
  assertMessageFormat,
  cloudEventAttributes,
  encodeRow,
  MESSAGE_FORMAT_NAMES,
  MESSAGE_HEADERS,
  structuredCloudEvent,
} from './publish/message-format.js';
export { SharedConnection } from './publish/shared-connection.js';

// Events and counters
export type { DispatchEventName } from './observe/dispatch-events.js';
export type { OutboxCounter } from './observe/outbox-counters.js';
export { TypedEvents } from './runtime/typed-events.js';

// Tokens
export { nameToken, tokenKey } from './modules/token.js';

// Time
export { CallLimits } from './runtime/store-calls.js';
export { DEFAULT_GRACE_MS } from './modules/lifecycle.js';
export {
  DEFAULT_CLAIM_TIMEOUT_MS,
  DEFAULT_PUBLISH_TIMEOUT_MS,
  longestPublishMs,
} from './runtime/claim-timing.js';
export { BoundedWaits, backgroundClock, endsWithin, Lease, systemClock } from './runtime/timing.js';
