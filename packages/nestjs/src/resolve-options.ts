import { type OutboxModuleOptions as CoreOptions, OutboxError } from '@postcommit/core';
import {
  assertKnownOptions,
  assertWholeNumber,
  DEFAULT_CLAIM_TIMEOUT_MS,
  DEFAULT_PUBLISH_TIMEOUT_MS,
  type DelayBackoff,
  isTimerDelay,
  longestPublishMs,
  type OptionNames,
} from '@postcommit/core/internal';
import type { NoListenerPolicy } from '@postcommit/publisher-events';
import type {
  OutboxModuleExtras,
  OutboxModuleOptions,
  PollingOptions,
  PublisherSource,
  RetryModuleOptions,
} from './outbox-module-options.js';

/** The retry policy stored with every event. */
export interface FrozenRetry {
  readonly maxAttempts: number;
  readonly backoff: DelayBackoff;
}

/** The options in the core's terms, with defaults filled in. */
export interface ResolvedOptions {
  readonly core: Omit<CoreOptions, 'publisher'>;
  readonly retry: FrozenRetry;
  readonly claimTimeoutMs: number;
  readonly isPolling: boolean;
  readonly publisher: PublisherSource | undefined;
  readonly onNoListener: NoListenerPolicy;
}

export const EXTRA_NAMES: OptionNames<OutboxModuleExtras> = { isGlobal: true, modules: true, tokens: true };
const OPTION_NAMES: OptionNames<OutboxModuleOptions & OutboxModuleExtras> = {
  prisma: true,
  store: true,
  polling: true,
  retry: true,
  stuckThreshold: true,
  publisher: true,
  transport: true,
  shutdownGraceMs: true,
  concurrency: true,
  publishTimeoutMs: true,
  maxRetakes: true,
  maxAgeMs: true,
  takeoverAfterMs: true,
  topics: true,
  maxPayloadBytes: true,
  onFirstFailure: true,
  onDead: true,
  onBacklog: true,
  onFailures: true,
  backoffStrategies: true,
  onNoListener: true,
  ...EXTRA_NAMES,
};
const POLLING_NAMES: OptionNames<PollingOptions> = { enabled: true, interval: true, batchSize: true };
const RETRY_NAMES: OptionNames<RetryModuleOptions> = { maxRetries: true, backoff: true, initialDelay: true };

/**
 * Fills in the defaults.
 *
 * @throws OutboxError `INVALID_CONFIG` with the name of the invalid option as the caller wrote it.
 */
export function resolveOptions(options: OutboxModuleOptions): ResolvedOptions {
  assertKnownOptions<OutboxModuleOptions & OutboxModuleExtras>('OutboxModule', options, OPTION_NAMES);
  assertKnownOptions('OutboxModule: polling', options.polling ?? {}, POLLING_NAMES);
  assertKnownOptions('OutboxModule: retry', options.retry ?? {}, RETRY_NAMES);
  const { polling = {}, stuckThreshold, transport, publisher = transport, onNoListener } = options;
  if (transport !== undefined && publisher !== transport)
    throw invalid('transport and publisher are the same option: pass one of them');
  if (onNoListener !== undefined && publisher !== undefined)
    throw invalid('onNoListener is for @OnOutboxEvent methods; with publisher or transport there are none');
  const { enabled: isPolling = true, interval = 5_000, batchSize = 100 } = polling;
  assertNumber('polling.interval', interval, 1);
  assertCount('polling.batchSize', batchSize);
  const retry = resolveRetry(options);
  if (stuckThreshold !== undefined) assertStuckThreshold(stuckThreshold, options.publishTimeoutMs);
  return {
    core: { ...passed(options), ...retry, worker: isPolling, pollIntervalMs: interval, batchSize },
    retry,
    claimTimeoutMs: stuckThreshold ?? DEFAULT_CLAIM_TIMEOUT_MS,
    isPolling,
    publisher,
    onNoListener: onNoListener ?? 'dead',
  };
}

function resolveRetry({ retry = {} }: OutboxModuleOptions): FrozenRetry {
  const { maxRetries = 5, backoff = 'exponential', initialDelay = 1_000 } = retry;
  assertCount('retry.maxRetries', maxRetries);
  assertNumber('retry.initialDelay', initialDelay, 0);
  if (backoff !== 'fixed' && backoff !== 'exponential')
    throw invalid(`retry.backoff must be 'fixed' or 'exponential', got ${JSON.stringify(backoff)}`);
  return { maxAttempts: maxRetries, backoff: { type: backoff, delayMs: initialDelay } };
}

function passed(options: OutboxModuleOptions): CoreOptions {
  const { concurrency, publishTimeoutMs, maxRetakes, backoffStrategies, topics, maxPayloadBytes } = options;
  const {
    maxAgeMs,
    stuckThreshold,
    takeoverAfterMs = stuckThreshold === undefined ? undefined : false,
  } = options;
  const { onFirstFailure, onDead, onFailures, onBacklog } = options;
  const all = {
    concurrency,
    publishTimeoutMs,
    maxRetakes,
    maxAgeMs,
    takeoverAfterMs,
    backoffStrategies,
    topics,
    maxPayloadBytes,
    onFirstFailure,
    onDead,
    onFailures,
    onBacklog,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function assertStuckThreshold(stuckThreshold: number, publishTimeoutMs = DEFAULT_PUBLISH_TIMEOUT_MS): void {
  assertNumber('stuckThreshold', stuckThreshold, 1);
  if (publishTimeoutMs < longestPublishMs(stuckThreshold)) return;
  throw invalid(
    `stuckThreshold (${stuckThreshold}) must be more than one and a half times publishTimeoutMs (${publishTimeoutMs}), ` +
      'the time a handler may take; otherwise an event could be handled twice at the same time',
  );
}

function assertNumber(name: string, value: number, least: number): void {
  if (!isTimerDelay(value, least))
    throw invalid(`${name} must be milliseconds from ${least} and below 2^31, got ${String(value)}`);
}

function assertCount(name: string, value: number): void {
  assertWholeNumber(`OutboxModule: ${name}`, value, { most: 2 ** 31 - 1 });
}

export function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxModule: ${problem}`);
}
