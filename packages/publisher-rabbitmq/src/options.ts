import { type MessageFormat, OutboxError, type OutboxRow } from '@postcommit/core';
import {
  assertKnownOptions,
  assertTimerDelay,
  assertWholeNumber,
  type OptionNames,
} from '@postcommit/core/internal';
import type { RabbitmqClient, RabbitmqSocketOptions } from './rabbitmq-client.js';

/** A user of RabbitMQ. */
export interface RabbitmqCredentials {
  readonly username: string;
  readonly password: string;
}

/** What `declare` creates, all of it durable. */
export interface RabbitmqTopology {
  /** The type of the exchange. @default 'topic' */
  readonly type?: string | undefined;
  /** Quorum queues, each with the patterns that bind it to the exchange: `{ billing: ['order.*'] }`. @default none */
  readonly queues?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The URL of one broker, or of several nodes of a cluster that are tried in turn. */
export type RabbitmqUrl = string | readonly string[];

/** Options of `rabbitmqPublisher`. Needs exactly one of `url`, `connect` and `client`. */
export interface RabbitmqPublisherOptions extends MessageFormat {
  /** `amqp://` or `amqps://`. A function is called at each connect. */
  readonly url?: RabbitmqUrl | (() => RabbitmqUrl | Promise<RabbitmqUrl>) | undefined;
  /** Instead of the user and password in `url`. A function is called at each connect, for rotation. */
  readonly credentials?:
    | RabbitmqCredentials
    | (() => RabbitmqCredentials | Promise<RabbitmqCredentials>)
    | undefined;
  /** Passed on to the socket: `ca`, `cert`, `key` and the other options of TLS. */
  readonly socketOptions?: object | undefined;
  /** Opens a connection. Pass the options on: `(options) => connect(url, options)`. The publisher closes it. */
  readonly connect?: ((socketOptions: RabbitmqSocketOptions) => Promise<RabbitmqClient>) | undefined;
  /** A connection of the application, which the publisher never closes. */
  readonly client?: RabbitmqClient | undefined;
  /** The exchange that all rows go to. `''` is the default exchange: the routing key is the name of a queue. */
  readonly exchange: string;
  /** @default the topic */
  readonly routingKey?: ((row: OutboxRow) => string) | undefined;
  /**
   * A row that no queue is bound for. `unavailable`: it waits for the queue and keeps its attempts. `permanent`: it is
   * dead at once.
   *
   * @default 'unavailable'
   */
  readonly unroutable?: 'unavailable' | 'permanent' | undefined;
  /** Creates the exchange at each connect, and queues. @default false: they must exist */
  readonly declare?: boolean | RabbitmqTopology | undefined;
  /** With `url`. A `heartbeat` in the URL comes first. @default 10 */
  readonly heartbeatSeconds?: number | undefined;
  /** How long connecting may take, for each URL. @default 5_000 */
  readonly connectTimeoutMs?: number | undefined;
  /** How long RabbitMQ may confirm nothing, or block its publishers. @default 15_000 */
  readonly confirmTimeoutMs?: number | undefined;
}

const OPTION_NAMES: OptionNames<RabbitmqPublisherOptions> = {
  url: true,
  credentials: true,
  socketOptions: true,
  connect: true,
  client: true,
  exchange: true,
  routingKey: true,
  unroutable: true,
  declare: true,
  heartbeatSeconds: true,
  connectTimeoutMs: true,
  confirmTimeoutMs: true,
  encode: true,
  cloudEvents: true,
};

const WHERE = 'rabbitmqPublisher';

/** What to declare, with its defaults. */
export interface Topology {
  readonly type: string;
  readonly queues: Readonly<Record<string, readonly string[]>>;
}

/** The options with their defaults. */
export interface ResolvedOptions extends RabbitmqPublisherOptions {
  readonly routingKey: (row: OutboxRow) => string;
  readonly unroutable: 'unavailable' | 'permanent';
  readonly topology: Topology | undefined;
  readonly heartbeatSeconds: number;
  readonly connectTimeoutMs: number;
  readonly confirmTimeoutMs: number;
}

/** @throws `INVALID_CONFIG` */
export function resolveOptions(given: RabbitmqPublisherOptions): ResolvedOptions {
  assertKnownOptions(WHERE, given, OPTION_NAMES);
  assertSource(given);
  assertRouting(given);
  const { heartbeatSeconds = 10, connectTimeoutMs = 5_000, confirmTimeoutMs = 15_000 } = given;
  assertWholeNumber(`${WHERE}: heartbeatSeconds`, heartbeatSeconds, { most: 65_535 });
  assertTimerDelay(`${WHERE}: connectTimeoutMs`, connectTimeoutMs);
  assertTimerDelay(`${WHERE}: confirmTimeoutMs`, confirmTimeoutMs);
  return {
    ...given,
    routingKey: given.routingKey ?? (({ topic }) => topic),
    unroutable: given.unroutable ?? 'unavailable',
    topology: topologyOf(given.declare),
    heartbeatSeconds,
    connectTimeoutMs,
    confirmTimeoutMs,
  };
}

/** The URLs, checked. Their text stays out of errors: it has the password. */
export function urlsOf(url: unknown): URL[] {
  const urls = Array.isArray(url) ? url : [url];
  const parsed = urls.map((one) => (URL.canParse(String(one)) ? new URL(String(one)) : undefined));
  return parsed.map((one) => {
    if (one !== undefined && one.hostname !== '' && /^amqps?:$/.test(one.protocol)) return one;
    throw invalid('url must be like amqp://user:password@host:5672/vhost, or amqps://…, or a list of these');
  });
}

function assertSource({ url, connect, client, credentials, socketOptions }: RabbitmqPublisherOptions): void {
  if ([url, connect, client].filter((source) => source !== undefined).length !== 1) {
    throw invalid('needs exactly one of url, connect and client');
  }
  if (url === undefined && (credentials !== undefined || socketOptions !== undefined)) {
    throw invalid('credentials and socketOptions need url');
  }
  if (url !== undefined && typeof url !== 'function') {
    if (urlsOf(url).length === 0) throw invalid('url must not be an empty list');
  }
  if (connect !== undefined && typeof connect !== 'function') throw invalid('connect must be a function');
  if (client !== undefined && typeof client?.createConfirmChannel !== 'function') {
    throw invalid('client must be a connection of amqplib, as its connect() returns it');
  }
}

function assertRouting({
  exchange,
  routingKey,
  unroutable,
  cloudEvents,
  encode,
}: RabbitmqPublisherOptions): void {
  if (typeof exchange !== 'string' || Buffer.byteLength(exchange) > 255) {
    throw invalid('exchange must be a string of up to 255 bytes');
  }
  if (routingKey !== undefined && typeof routingKey !== 'function')
    throw invalid('routingKey must be a function');
  if (encode !== undefined && typeof encode !== 'function') throw invalid('encode must be a function');
  if (unroutable !== undefined && unroutable !== 'unavailable' && unroutable !== 'permanent') {
    throw invalid("unroutable must be 'unavailable' or 'permanent'");
  }
  if (cloudEvents !== undefined && (typeof cloudEvents?.source !== 'string' || cloudEvents.source === '')) {
    throw invalid('cloudEvents.source must be a string that is not empty');
  }
}

function topologyOf(declare: boolean | RabbitmqTopology | undefined): Topology | undefined {
  if (declare === undefined || declare === false) return undefined;
  if (declare === true) return { type: 'topic', queues: {} };
  assertKnownOptions(`${WHERE}: declare`, declare, { type: true, queues: true });
  return { type: declare.type ?? 'topic', queues: declare.queues ?? {} };
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${WHERE}: ${problem}`);
}
