import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node';
import { UnavailableError } from '@postcommit/core';
import { backgroundClock, endsWithin, SharedConnection } from '@postcommit/core/internal';
import type { NatsConnectionLike } from './nats-connection-like.js';
import type { Credential, NatsPublisherOptions } from './nats-options.js';
import { connectError } from './publish-errors.js';

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
/** How long a server that left a message unconfirmed may take to answer a ping. */
const PING_LIMIT_MS = 2_000;
/** How long a connection may take to close. */
const CLOSE_LIMIT_MS = 1_000;

/** A connection, and JetStream on it. */
export interface Session {
  readonly connection: NatsConnection;
  readonly js: JetStreamClient;
}

/** Where the publisher gets its connection from. */
export interface Sessions {
  readonly isConnected: boolean;
  /** @throws UnavailableError */
  get(): Promise<Session>;
  /** A message was not confirmed in time: finds out whether the connection is dead. */
  suspect(session: Session): void;
  close(): Promise<void>;
}

/** A connection of its own. The client's reconnects are off: they would send what was given up meanwhile. */
export class OwnSessions implements Sessions {
  readonly #options: NatsPublisherOptions;
  readonly #shared: SharedConnection<Session>;
  #suspected: Session | undefined;

  constructor(options: NatsPublisherOptions) {
    this.#options = options;
    this.#shared = new SharedConnection({ open: () => this.#open(), close: closeSession });
  }

  get isConnected(): boolean {
    return this.#shared.isOpen;
  }

  get(): Promise<Session> {
    return this.#shared.get();
  }

  suspect(session: Session): void {
    if (this.#suspected === session) return;
    this.#suspected = session;
    void this.#probe(session).finally(() => {
      this.#suspected = undefined;
    });
  }

  close(): Promise<void> {
    return this.#shared.close();
  }

  async #probe(session: Session): Promise<void> {
    const { connection } = session;
    try {
      if (await endsWithin(PING_LIMIT_MS, connection.flush(), backgroundClock)) return;
    } catch {
      // It is closed, so it is lost all the same.
    }
    await this.#shared.lost(session);
    await closeSession(session);
  }

  async #open(): Promise<Session> {
    try {
      const connection = await connect(await this.#connectOptions());
      const session = sessionOn(connection, this.#options);
      const lost = (): void => void this.#shared.lost(session);
      connection.closed().then(lost, lost);
      return session;
    } catch (error) {
      throw connectError(error);
    }
  }

  async #connectOptions(): Promise<Parameters<typeof connect>[0]> {
    const { servers = [], tls, name = 'postcommit', inboxPrefix } = this.#options;
    const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = this.#options;
    return {
      servers: typeof servers === 'string' ? servers : [...servers],
      name,
      ...(tls && { tls: { ...tls } }),
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      ...(await credentialsOf(this.#options)),
      timeout: connectTimeoutMs,
      reconnect: false,
      waitOnFirstConnect: false,
      pingInterval: 10_000,
      maxPingOut: 2,
      // A stack trace for each message costs more than the message.
      noAsyncTraces: true,
    };
  }
}

/** A connection of the application, which reconnects it and closes it. */
export class BorrowedSessions implements Sessions {
  readonly #session: Session;
  #isUp = true;
  #stopWatching: (() => void) | undefined;

  constructor(connection: NatsConnectionLike, options: NatsPublisherOptions) {
    this.#session = sessionOn(connection as unknown as NatsConnection, options);
  }

  get isConnected(): boolean {
    const { connection } = this.#session;
    return !connection.isClosed() && !connection.isDraining() && this.#isUp && connection.info !== undefined;
  }

  /** While the client reconnects, it keeps messages and sends them later: after they were given up. */
  async get(): Promise<Session> {
    this.#watch();
    if (this.isConnected) return this.#session;
    throw new UnavailableError('the NATS connection of the application is closed or reconnecting', {
      isCertain: true,
    });
  }

  /** The application's business. */
  suspect(): void {}

  async close(): Promise<void> {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#isUp = true;
  }

  #watch(): void {
    if (this.#stopWatching) return;
    const status: AsyncIterable<{ readonly type: string }> & { stop?: () => void } =
      this.#session.connection.status();
    this.#stopWatching = () => status.stop?.();
    void this.#follow(status);
  }

  async #follow(status: AsyncIterable<{ readonly type: string }>): Promise<void> {
    for await (const { type } of status) {
      if (type === 'disconnect') this.#isUp = false;
      if (type === 'reconnect') this.#isUp = true;
    }
  }
}

function sessionOn(connection: NatsConnection, { domain }: NatsPublisherOptions): Session {
  return { connection, js: jetstream(connection, domain === undefined ? {} : { domain }) };
}

async function closeSession({ connection }: Session): Promise<void> {
  // Not worth an error: everything that was to be confirmed is, or has failed.
  const closed = connection.close().catch(() => {});
  await endsWithin(CLOSE_LIMIT_MS, closed, backgroundClock);
}

async function credentialsOf(options: NatsPublisherOptions): Promise<Parameters<typeof connect>[0]> {
  const [user, pass, token, creds] = await Promise.all([
    currentValue(options.user),
    currentValue(options.pass),
    currentValue(options.token),
    currentValue(options.creds),
  ]);
  const authenticators = [
    ...(options.authenticator === undefined ? [] : [options.authenticator as Authenticator]),
    ...(creds === undefined
      ? []
      : [credsAuthenticator(typeof creds === 'string' ? Buffer.from(creds) : creds)]),
  ];
  return {
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
    ...(token !== undefined && { token }),
    ...(authenticators.length > 0 && { authenticator: authenticators }),
  };
}

async function currentValue<T extends string | Uint8Array>(
  credential: Credential<T> | undefined,
): Promise<T | undefined> {
  return typeof credential === 'function' ? credential() : credential;
}
