import { type MessageFormat, OutboxError, type OutboxRow } from '@postcommit/core';
import {
  assertKnownOptions,
  assertMessageFormat,
  assertTimerDelay,
  assertWholeNumber,
  type OptionNames,
} from '@postcommit/core/internal';
import type { NatsConnectionLike } from './nats-connection-like.js';

/** A value, or a function that returns it. Functions are called for each connection, so that credentials can rotate. */
export type Credential<T> = T | (() => T | Promise<T>);

/** How `declare` creates the stream. */
export interface StreamSettings {
  /** @default 3 in a cluster, otherwise 1 */
  readonly replicas?: number | undefined;
  /** How long the server remembers the ids of messages. @default 600_000 */
  readonly duplicateWindowMs?: number | undefined;
}

/** The options of `natsPublisher`. Either `servers` or `connection` is required. */
export interface NatsPublisherOptions extends MessageFormat {
  /** Such as `nats://nats-1:4222`, without credentials. */
  readonly servers?: string | readonly string[] | undefined;
  /** A connection of the application, instead of `servers`. It is never closed. */
  readonly connection?: NatsConnectionLike | undefined;
  /** The stream that takes the messages. A subject that belongs to another stream is refused. */
  readonly stream?: string | undefined;
  /** The subject of a row. @default its topic */
  readonly subject?: ((row: OutboxRow) => string) | undefined;
  /** The subjects of all rows, also as patterns, such as `orders.>`: checked at the start, and used by `declare`. */
  readonly subjects?: readonly string[] | undefined;
  /** Creates `stream` for `subjects` if it does not exist: in files, and refusing messages when it is full. @default false */
  readonly declare?: boolean | StreamSettings | undefined;
  /** The JetStream domain, for streams behind a leaf node. */
  readonly domain?: string | undefined;
  /** How long the server may take to confirm a message. @default 5_000 */
  readonly timeoutMs?: number | undefined;
  readonly user?: Credential<string> | undefined;
  readonly pass?: Credential<string> | undefined;
  readonly token?: Credential<string> | undefined;
  /** The content of a `.creds` file: a JWT and a seed. */
  readonly creds?: Credential<string | Uint8Array> | undefined;
  /** An authenticator of `@nats-io/transport-node`, such as `nkeyAuthenticator(seed)`. */
  readonly authenticator?: unknown;
  /** As in `connect` of `@nats-io/transport-node`. */
  readonly tls?: Readonly<Record<string, unknown>> | undefined;
  /** The name of the connection in the server's monitoring. @default 'postcommit' */
  readonly name?: string | undefined;
  /** For users who may not subscribe to `_INBOX.>`. */
  readonly inboxPrefix?: string | undefined;
  /** How long one attempt to connect may take. @default 5_000 */
  readonly connectTimeoutMs?: number | undefined;
}

/** What only a connection of the publisher's own has. */
type ConnectOptions = Pick<
  NatsPublisherOptions,
  | 'servers'
  | 'user'
  | 'pass'
  | 'token'
  | 'creds'
  | 'authenticator'
  | 'tls'
  | 'name'
  | 'inboxPrefix'
  | 'connectTimeoutMs'
>;

const SERVER_NAMES: OptionNames<ConnectOptions> = {
  servers: true,
  user: true,
  pass: true,
  token: true,
  creds: true,
  authenticator: true,
  tls: true,
  name: true,
  inboxPrefix: true,
  connectTimeoutMs: true,
};
const NAMES: OptionNames<NatsPublisherOptions> = {
  ...SERVER_NAMES,
  connection: true,
  stream: true,
  subject: true,
  subjects: true,
  declare: true,
  domain: true,
  timeoutMs: true,
  encode: true,
  cloudEvents: true,
};
const STREAM_NAMES: OptionNames<StreamSettings> = { replicas: true, duplicateWindowMs: true };
const WHERE = 'natsPublisher';

/** @throws `INVALID_CONFIG` */
export function assertNatsOptions(options: NatsPublisherOptions): void {
  if (typeof options !== 'object' || options === null) throw invalid('options must be an object');
  assertKnownOptions(WHERE, options, NAMES);
  assertMessageFormat(WHERE, options);
  assertConnection(options);
  assertStream(options);
  const { timeoutMs, connectTimeoutMs, subject } = options;
  if (timeoutMs !== undefined) assertTimerDelay(`${WHERE}: timeoutMs`, timeoutMs);
  if (connectTimeoutMs !== undefined) assertTimerDelay(`${WHERE}: connectTimeoutMs`, connectTimeoutMs);
  if (subject !== undefined && typeof subject !== 'function') throw invalid('subject must be a function');
}

function assertConnection(options: NatsPublisherOptions): void {
  const { servers, connection } = options;
  if ((servers === undefined) === (connection === undefined))
    throw invalid('pass either servers or connection');
  if (connection !== undefined) {
    const other = Object.keys(SERVER_NAMES).find((name) => Reflect.get(options, name) !== undefined);
    if (other) throw invalid(`${other} has no effect on a connection that is handed in`);
    if (typeof connection?.request !== 'function')
      throw invalid('connection must be a NatsConnection, as connect() returns it');
    return;
  }
  const list: readonly unknown[] = Array.isArray(servers) ? servers : [servers];
  if (list.length === 0) throw invalid('servers is empty');
  for (const server of list) assertServer(server);
}

/** Never quotes a server: it may hold a password. */
function assertServer(server: unknown): void {
  if (typeof server !== 'string' || server === '')
    throw invalid('servers must be texts, such as nats://host:4222');
  const url = server.includes('://') ? server : `nats://${server}`;
  if (!URL.canParse(url)) throw invalid('a server is not an address such as nats://host:4222');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    throw invalid('servers must not hold credentials, which NATS would ignore: pass user and pass, or token');
}

function assertStream({ stream, domain, subjects, declare = false }: NatsPublisherOptions): void {
  if (stream !== undefined && !isName(stream))
    throw invalid('stream must be the name of a stream, without spaces, dots, slashes, * and >');
  if (domain !== undefined && !isName(domain)) throw invalid('domain must be the name of a JetStream domain');
  if (
    subjects !== undefined &&
    (!Array.isArray(subjects) || subjects.length === 0 || !subjects.every(isPattern))
  )
    throw invalid('subjects must be a list of subjects, such as orders.>');
  if (declare === false) return;
  if (stream === undefined || subjects === undefined)
    throw invalid('declare needs stream and subjects: what to create, and for which messages');
  if (declare === true) return;
  if (typeof declare !== 'object' || declare === null) throw invalid('declare must be true or settings');
  assertKnownOptions(`${WHERE}: declare`, declare, STREAM_NAMES);
  const { replicas, duplicateWindowMs } = declare;
  if (replicas !== undefined) assertWholeNumber(`${WHERE}: declare.replicas`, replicas, { most: 5 });
  if (duplicateWindowMs !== undefined)
    assertTimerDelay(`${WHERE}: declare.duplicateWindowMs`, duplicateWindowMs);
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && !/[\s.*>/\\]/.test(name);
}

function isPattern(subject: unknown): boolean {
  return typeof subject === 'string' && subject !== '' && !/\s/.test(subject);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${WHERE}: ${problem}`);
}
