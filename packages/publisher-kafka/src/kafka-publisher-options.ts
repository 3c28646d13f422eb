import type { ConnectionOptions } from 'node:tls';
import { type MessageFormat, OutboxError, type OutboxRow } from '@postcommit/core';
import {
  assertKnownOptions,
  assertWholeNumber,
  isTimerDelay,
  type OptionNames,
} from '@postcommit/core/internal';
import type { KafkaCompression, KafkaProducer } from './kafka-producer.js';

/** A secret, or a function that returns the current one. Called at each connect, so that it can be rotated. */
export type Credential<T = string> = T | (() => T | Promise<T>);

/** How the client logs in. */
export interface KafkaSaslOptions {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER';
  readonly username?: Credential;
  readonly password?: Credential;
  /** For `OAUTHBEARER`. */
  readonly token?: Credential;
  /** For `OAUTHBEARER`. */
  readonly oauthBearerExtensions?: Credential<Record<string, string>>;
}

/** The settings of topics that `declare` creates. */
export interface DeclaredTopics {
  /** @default the cluster's `num.partitions` */
  readonly partitions?: number;
  /** @default the cluster's `default.replication.factor` */
  readonly replicas?: number;
  /** Settings of the topics, such as `min.insync.replicas`. @default the cluster's */
  readonly configs?: Readonly<Record<string, string>>;
}

/** How the cluster is reached. */
export interface KafkaConnectionOptions {
  /** `host:port` of some brokers of the cluster. */
  readonly brokers?: readonly string[];
  /** What the brokers' logs and quotas call this client. @default 'postcommit' */
  readonly clientId?: string;
  readonly sasl?: KafkaSaslOptions;
  /** Passed on to Node's `tls.connect`. `{}` is enough for certificates from a public authority. @default no TLS */
  readonly tls?: ConnectionOptions;
  /**
   * Lets the client repeat a request whose answer was lost without a duplicate. Rows that are published again, after a
   * failure or a crash, are duplicates all the same.
   *
   * @default false
   */
  readonly idempotent?: boolean;
}

export interface KafkaPublisherOptions extends KafkaConnectionOptions, MessageFormat {
  /**
   * A `Producer` of yours, instead of `brokers`. It is never closed. Create it without serializers, with few `retries`
   * and with a `requestTimeout` below `publishTimeoutMs`.
   */
  readonly producer?: KafkaProducer;
  /** The Kafka topic of a row. @default the row's topic */
  readonly topic?: (row: OutboxRow) => string;
  /** Kafka topics that must exist. They are checked at the start. @default none */
  readonly topics?: readonly string[];
  /** Creates those of `topics` that don't exist. @default false */
  readonly declare?: boolean | DeclaredTopics;
  /** @default 'none' */
  readonly compression?: KafkaCompression;
  /**
   * The longest that a batch may take, from the wait for the one before to the confirmation. Must be below
   * `publishTimeoutMs`.
   *
   * @default 15_000
   */
  readonly timeoutMs?: number;
  /** How often a batch is sent again at once when a partition has moved to another broker: 0 to 2. @default 1 */
  readonly retries?: number;
  /**
   * The most bytes that one request has for one partition. The broker's `max.message.bytes` holds for all of them
   * together. A larger row goes alone, and the broker decides.
   *
   * @default 1_000_000
   */
  readonly maxBatchBytes?: number;
}

const CONNECTION_NAMES: OptionNames<KafkaConnectionOptions> = {
  brokers: true,
  clientId: true,
  sasl: true,
  tls: true,
  idempotent: true,
};
const OPTION_NAMES: OptionNames<KafkaPublisherOptions> = {
  ...CONNECTION_NAMES,
  producer: true,
  topic: true,
  topics: true,
  declare: true,
  compression: true,
  timeoutMs: true,
  retries: true,
  maxBatchBytes: true,
  encode: true,
  cloudEvents: true,
};
const DECLARE_NAMES: OptionNames<DeclaredTopics> = { partitions: true, replicas: true, configs: true };
const SASL_NAMES: OptionNames<KafkaSaslOptions> = {
  mechanism: true,
  username: true,
  password: true,
  token: true,
  oauthBearerExtensions: true,
};
const CLOUD_EVENTS_NAMES: OptionNames<NonNullable<MessageFormat['cloudEvents']>> = { source: true };
const WHERE = 'kafkaPublisher';
const COMPRESSIONS: readonly unknown[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const MECHANISMS: readonly unknown[] = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'];
const MAX_RETRIES = 2;

/** The options that always have a value. */
type Defaults = Required<
  Pick<
    KafkaPublisherOptions,
    'clientId' | 'topic' | 'topics' | 'declare' | 'timeoutMs' | 'retries' | 'maxBatchBytes'
  >
>;
export type ResolvedOptions = Omit<KafkaPublisherOptions, keyof Defaults> & Defaults;

/** @throws `INVALID_CONFIG` */
export function resolveOptions(options: KafkaPublisherOptions): ResolvedOptions {
  assertKnownOptions(WHERE, options, OPTION_NAMES);
  assertConnection(options);
  assertTopics(options);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const resolved: ResolvedOptions = {
    clientId: 'postcommit',
    topic: (row) => row.topic,
    topics: [],
    declare: false,
    timeoutMs: 15_000,
    retries: 1,
    maxBatchBytes: 1_000_000,
    ...(given as KafkaPublisherOptions),
  };
  assertLimits(resolved);
  return resolved;
}

function assertConnection(options: KafkaPublisherOptions): void {
  const { brokers, producer, sasl } = options;
  if (producer) {
    const useless = Object.keys(CONNECTION_NAMES).find(
      (name) => options[name as keyof KafkaConnectionOptions],
    );
    if (useless) refuse(`${useless} can't be set for a producer of yours`);
    if (typeof producer.send !== 'function' || typeof producer.metadata !== 'function')
      refuse('producer must be a Producer of @platformatic/kafka');
    return;
  }
  if (!Array.isArray(brokers) || brokers.length === 0 || !brokers.every((broker) => isText(broker)))
    refuse("brokers must be a list of 'host:port'");
  if (options.clientId !== undefined && /^$|\s/.test(options.clientId))
    refuse('clientId must be a word without spaces');
  if (!sasl) return;
  assertKnownOptions(`${WHERE}: sasl`, sasl, SASL_NAMES);
  if (!MECHANISMS.includes(sasl.mechanism)) refuse(`sasl.mechanism must be one of ${MECHANISMS.join(', ')}`);
}

function assertTopics({ topic, topics = [], declare, producer, cloudEvents }: KafkaPublisherOptions): void {
  if (topic !== undefined && typeof topic !== 'function') refuse('topic must be a function');
  if (!Array.isArray(topics) || !topics.every((name) => isTopicName(name)))
    refuse('topics must be a list of names that Kafka allows');
  if (declare && producer) refuse('declare needs brokers: it opens a connection of its own');
  if (declare && topics.length === 0) refuse('declare needs topics: the names of those to create');
  if (typeof declare === 'object') assertKnownOptions(`${WHERE}: declare`, declare, DECLARE_NAMES);
  if (cloudEvents === undefined) return;
  assertKnownOptions(`${WHERE}: cloudEvents`, cloudEvents, CLOUD_EVENTS_NAMES);
  if (!isText(cloudEvents.source)) refuse('cloudEvents.source must be a URI reference');
}

function assertLimits({ timeoutMs, retries, maxBatchBytes, compression }: ResolvedOptions): void {
  if (!isTimerDelay(timeoutMs, 1))
    refuse(`timeoutMs must be at least 1 and below 2^31, got ${String(timeoutMs)}`);
  if (!Number.isInteger(retries) || retries < 0 || retries > MAX_RETRIES)
    refuse(`retries must be 0, 1 or ${MAX_RETRIES}: the outbox tries again anyway, got ${String(retries)}`);
  assertWholeNumber(`${WHERE}: maxBatchBytes`, maxBatchBytes);
  if (compression !== undefined && !COMPRESSIONS.includes(compression))
    refuse(`compression must be one of ${COMPRESSIONS.join(', ')}`);
}

/** What Kafka allows as the name of a topic. */
export function isTopicName(name: unknown): boolean {
  return typeof name === 'string' && /^[\w.-]{1,249}$/.test(name) && name !== '.' && name !== '..';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function refuse(problem: string): never {
  throw new OutboxError('INVALID_CONFIG', `${WHERE}: ${problem}`);
}
