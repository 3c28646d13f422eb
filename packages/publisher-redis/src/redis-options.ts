import { type MessageFormat, OutboxError, type OutboxRow } from '@postcommit/core';
import {
  assertKnownOptions,
  assertMessageFormat,
  assertTimerDelay,
  assertWholeNumber,
  type OptionNames,
} from '@postcommit/core/internal';
import type { RedisClientLike } from './redis-client-like.js';
import { addressProblem } from './redis-url.js';

export const DEFAULT_TIMEOUT_MS = 5_000;
export const DEFAULT_WAIT_MS = 1_000;

/** A value, or a function that returns it. Functions are called for each connection, so that credentials can rotate. */
export type Credential = string | (() => string | Promise<string>);

/** How to connect. Use this or `client`. */
export interface RedisServerOptions {
  /** `redis://host:6379/0`, or `rediss://` for TLS. May hold the user and the password. */
  readonly url: string;
  readonly username?: Credential;
  readonly password?: Credential;
  /** With `rediss://`: the options of `tls.connect`, such as `ca`. */
  readonly tls?: Readonly<Record<string, unknown>>;
  /** The name of the connection in `CLIENT LIST`. @default 'postcommit' */
  readonly name?: string;
  /** How long an attempt to connect may take. @default 5_000 */
  readonly connectTimeoutMs?: number;
}

/** A `WAIT` after the messages. */
export interface ReplicaSettings {
  /** How many replicas must have received a message. */
  readonly replicas: number;
  /** How long they may take. @default 1_000 */
  readonly timeoutMs?: number;
}

/** A `WAITAOF` after the messages. Needs Redis 7.2. */
export interface AofSettings {
  /** How many replicas must have written a message to their disk, besides the server itself. @default none */
  readonly replicas?: number;
  /** How long they may take. @default 1_000 */
  readonly timeoutMs?: number;
}

/** What has to happen before a row counts as delivered, besides the answer of the server. */
export interface RedisDurability {
  /** Replicas have received it. */
  readonly wait?: ReplicaSettings;
  /** The server has written it to its disk. */
  readonly waitAof?: AofSettings;
}

interface RedisSendOptions extends MessageFormat {
  /** The stream of a row. @default its topic */
  readonly stream?: (row: OutboxRow) => string;
  /** Rows for a stream that does not exist wait. Otherwise Redis creates it. @default false */
  readonly streamMustExist?: boolean;
  /** What a delivery is, besides the answer of the server. @default nothing else */
  readonly durability?: RedisDurability;
  /** Trims streams to about this length: entries that were not read are lost. @default no trimming */
  readonly maxLength?: number;
  /** Has Redis 8.6 or newer drop a row that it got before. @default true */
  readonly idempotent?: boolean;
  /** How long Redis may be silent while it owes answers. @default 5_000 */
  readonly timeoutMs?: number;
}

/** The options of `redisPublisher`. */
export type RedisPublisherOptions = RedisSendOptions &
  (
    | (RedisServerOptions & { readonly client?: never })
    | {
        /** A client of the application, connected. It is never closed. */
        readonly client: RedisClientLike;
      }
  );

/** All options, of both kinds. */
export type AnyRedisOptions = RedisSendOptions &
  Partial<RedisServerOptions> & { readonly client?: RedisClientLike };

const SERVER_NAMES: OptionNames<RedisServerOptions> = {
  url: true,
  username: true,
  password: true,
  tls: true,
  name: true,
  connectTimeoutMs: true,
};
const NAMES: OptionNames<AnyRedisOptions> = {
  ...SERVER_NAMES,
  client: true,
  stream: true,
  streamMustExist: true,
  durability: true,
  maxLength: true,
  idempotent: true,
  timeoutMs: true,
  encode: true,
  cloudEvents: true,
};
const DURABILITY_NAMES: OptionNames<RedisDurability> = { wait: true, waitAof: true };
const WAIT_NAMES: OptionNames<ReplicaSettings> = { replicas: true, timeoutMs: true };
const WHERE = 'redisPublisher';

/** @throws `INVALID_CONFIG` */
export function assertRedisOptions(options: AnyRedisOptions): void {
  if (typeof options !== 'object' || options === null) throw invalid('options must be an object');
  assertKnownOptions(WHERE, options, NAMES);
  assertMessageFormat(WHERE, options);
  assertConnection(options);
  const { timeoutMs, connectTimeoutMs, maxLength, stream } = options;
  if (timeoutMs !== undefined) assertTimerDelay(`${WHERE}: timeoutMs`, timeoutMs);
  if (connectTimeoutMs !== undefined) assertTimerDelay(`${WHERE}: connectTimeoutMs`, connectTimeoutMs);
  if (maxLength !== undefined) assertWholeNumber(`${WHERE}: maxLength`, maxLength);
  if (stream !== undefined && typeof stream !== 'function') throw invalid('stream must be a function');
  assertFlag('streamMustExist', options.streamMustExist);
  assertFlag('idempotent', options.idempotent);
  assertDurability(options);
}

function assertConnection(options: AnyRedisOptions): void {
  const { url, client } = options;
  if ((url === undefined) === (client === undefined)) throw invalid('pass either url or client');
  if (client !== undefined) {
    const other = Object.keys(SERVER_NAMES).find((name) => name in options);
    if (other) throw invalid(`${other} has no effect on a client that is handed in`);
    if (!isSingleClient(client))
      throw invalid('client must be a client of one server, as createClient() of @redis/client returns it');
    return;
  }
  const { name = 'postcommit' } = options;
  if (typeof name !== 'string' || !/^[!-~]{1,100}$/.test(name))
    throw invalid('name must be up to 100 ASCII characters, without spaces');
  const problem = addressProblem(options);
  if (problem !== undefined) throw invalid(problem);
}

/** Those of clusters, sentinels and pools would send a message and its `WAIT` on different connections. */
function isSingleClient(client: unknown): boolean {
  const { isReady, sendCommand } = (client ?? {}) as Partial<RedisClientLike>;
  return typeof isReady === 'boolean' && typeof sendCommand === 'function' && !isMany(client);
}

function isMany(client: unknown): boolean {
  return typeof client === 'object' && client !== null && ('slots' in client || 'getSentinelNode' in client);
}

function assertFlag(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(`${name} must be true or false`);
}

function assertDurability({ durability, timeoutMs = DEFAULT_TIMEOUT_MS }: AnyRedisOptions): void {
  if (durability === undefined) return;
  const where = `${WHERE}: durability`;
  assertKnownOptions(where, durability, DURABILITY_NAMES);
  const { wait, waitAof } = durability;
  if (wait !== undefined) {
    assertKnownOptions(`${where}.wait`, wait, WAIT_NAMES);
    assertWholeNumber(`${where}.wait.replicas`, wait.replicas);
    assertWaitTime('wait', wait.timeoutMs, timeoutMs);
  }
  if (waitAof !== undefined) {
    assertKnownOptions(`${where}.waitAof`, waitAof, WAIT_NAMES);
    if (waitAof.replicas !== undefined) assertWholeNumber(`${where}.waitAof.replicas`, waitAof.replicas);
    assertWaitTime('waitAof', waitAof.timeoutMs, timeoutMs);
  }
}

/** While Redis waits, it is silent. */
function assertWaitTime(name: string, waitMs: number | undefined, timeoutMs: number): void {
  if (waitMs !== undefined) assertTimerDelay(`${WHERE}: durability.${name}.timeoutMs`, waitMs);
  if ((waitMs ?? DEFAULT_WAIT_MS) >= timeoutMs)
    throw invalid(`durability.${name}.timeoutMs must be less than timeoutMs (${timeoutMs})`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${WHERE}: ${problem}`);
}
