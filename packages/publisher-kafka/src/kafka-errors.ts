import { TransientError, UnavailableError } from '@postcommit/core';
import type { KafkaOffset } from './kafka-producer.js';

/** What is read of the errors of `@platformatic/kafka`, which has no field that always says what happened. */
export interface ErrorFields {
  readonly code?: unknown;
  /** The name of an error of the protocol. */
  readonly apiId?: unknown;
  /** Where in `response` of the error around it. */
  readonly path?: unknown;
  readonly response?: unknown;
  /** What was stored although the send failed. */
  readonly produced?: { readonly offsets?: readonly KafkaOffset[] };
  readonly errors?: readonly unknown[];
  readonly cause?: unknown;
}

/** One of the rows, or all of them together. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
]);

/** The partition has another leader than the client believes. */
const STALE: ReadonlySet<unknown> = new Set([
  'FENCED_LEADER_EPOCH',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_OR_FOLLOWER',
  'UNKNOWN_LEADER_EPOCH',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

const REFUSED_LOGINS: ReadonlySet<unknown> = new Set([
  'CLUSTER_AUTHORIZATION_FAILED',
  'ILLEGAL_SASL_STATE',
  'PLT_KFK_AUTHENTICATION',
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
]);

/** Every row of every topic would fail. */
const CERTAIN: ReadonlySet<unknown> = new Set([
  ...REFUSED_LOGINS,
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
]);

const NOT_FOR_US: ReadonlySet<unknown> = new Set([
  'CLUSTER_AUTHORIZATION_FAILED',
  'PLT_KFK_UNSUPPORTED_API',
  'TOPIC_AUTHORIZATION_FAILED',
  'UNSUPPORTED_VERSION',
]);

/** The row is not to blame. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  ...STALE,
  ...CERTAIN,
  'BROKER_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'KAFKA_STORAGE_ERROR',
  'NETWORK_EXCEPTION',
  'NOT_CONTROLLER',
  'NOT_COORDINATOR',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'REPLICA_NOT_AVAILABLE',
  'REQUEST_TIMED_OUT',
  'THROTTLING_QUOTA_EXCEEDED',
  'TOPIC_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'PLT_KFK_NETWORK',
  'PLT_KFK_TIMEOUT',
  'PLT_KFK_UNEXPECTED_CORRELATION_ID',
]);

/** Errors in errors, and causes. */
const MAX_DEPTH = 8;

/** Every error that it consists of, outermost first. */
export function partsOf(error: unknown, depth = 0): ErrorFields[] {
  if (typeof error !== 'object' || error === null || depth >= MAX_DEPTH) return [];
  const fields: ErrorFields = error;
  const inner = [...(Array.isArray(fields.errors) ? fields.errors : []), fields.cause];
  return [fields, ...inner.flatMap((part) => partsOf(part, depth + 1))];
}

export function namesIn(error: unknown): unknown[] {
  return partsOf(error).flatMap(({ code, apiId }) => [code, apiId]);
}

/** Whether the broker refuses a batch because of its rows. */
export function isRefusal(error: unknown): boolean {
  return namesIn(error).some((name) => REFUSALS.has(name));
}

/** Whether no broker has answered. */
export function isCutOff(error: unknown): boolean {
  const parts = partsOf(error);
  const isAnswer = ({ response, produced }: ErrorFields): boolean =>
    response !== undefined || (produced?.offsets ?? []).length > 0;
  return !parts.some(isAnswer) && parts.some(({ code }) => code === 'PLT_KFK_NETWORK');
}

/** Whether every row of every topic would fail until somebody changes the login. */
export function isRefusedLogin(error: unknown): boolean {
  return namesIn(error).some((name) => REFUSED_LOGINS.has(name));
}

/** Whether a topic is missing, from the error of a metadata request that has reached the cluster. */
export function isMissingTopic(error: unknown): boolean {
  return partsOf(error)[0]?.code === 'PLT_KFK_USER';
}

/** Whether the cluster does not know the request, or this client is not allowed to send it. */
export function isNotForUs(error: unknown): boolean {
  return namesIn(error).some((name) => NOT_FOR_US.has(name));
}

/** Whether what is known about the topics is out of date. */
export function isStale(reason: unknown): boolean {
  return namesIn(reason).some((name) => STALE.has(name));
}

/** Says by codes whose fault an error is. `what` begins the message. */
export function publishError(what: string, cause: unknown): Error {
  const names = namesIn(cause);
  const code =
    names.findLast((name) => UNAVAILABLE.has(name)) ?? names.findLast((name) => name !== undefined);
  const message = code === undefined ? what : `${what}: ${String(code)}`;
  if (!names.some((name) => UNAVAILABLE.has(name))) return new TransientError(message, undefined, { cause });
  return new UnavailableError(message, { isCertain: names.some((name) => CERTAIN.has(name)), cause });
}

/** The error of an attempt to connect. No row is to blame for it. */
export function connectError(cause: unknown): UnavailableError {
  const { message } = publishError('Kafka is not available', cause);
  const isCertain = namesIn(cause).some((name) => CERTAIN.has(name) || name === 'PLT_KFK_USER');
  return new UnavailableError(message, { isCertain, cause });
}
