import { UnavailableError } from '@postcommit/core';
import { SharedConnection } from '@postcommit/core/internal';
import { createClient } from '@redis/client';
import type { RedisClientLike } from './redis-client-like.js';
import { connectError } from './redis-errors.js';
import {
  type AnyRedisOptions,
  type Credential,
  DEFAULT_TIMEOUT_MS,
  type RedisServerOptions,
} from './redis-options.js';
import { addressOf } from './redis-url.js';
import { type ServerInfo, serverInfo } from './server-info.js';
import { Session } from './session.js';

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;

/** A session, and the server that it leads to. */
export interface Connected {
  readonly session: Session;
  readonly server: ServerInfo;
}

/** Where the publisher gets its connection from. */
export interface Sessions {
  readonly isConnected: boolean;
  /** @throws UnavailableError */
  get(): Promise<Connected>;
  /** The server can't take messages any longer: the next `get` looks for another one. */
  outdated(connected: Connected): void;
  close(): Promise<void>;
}

type RedisClient = ReturnType<typeof createClient>;

interface OwnConnection extends Connected {
  readonly client: RedisClient;
}

/** A connection of its own. The client's reconnects are off: they would send what was given up meanwhile. */
export class OwnSessions implements Sessions {
  readonly #options: AnyRedisOptions & RedisServerOptions;
  readonly #shared: SharedConnection<OwnConnection>;

  constructor(options: AnyRedisOptions & RedisServerOptions) {
    this.#options = options;
    this.#shared = new SharedConnection({
      open: () => this.#open(),
      close: async ({ client }) => destroy(client),
    });
  }

  get isConnected(): boolean {
    return this.#shared.isOpen;
  }

  get(): Promise<Connected> {
    return this.#shared.get();
  }

  outdated(connected: Connected): void {
    if ('client' in connected) this.#replace(connected as OwnConnection);
  }

  close(): Promise<void> {
    return this.#shared.close();
  }

  async #open(): Promise<OwnConnection> {
    let client: RedisClient | undefined;
    try {
      client = createClient(await clientOptions(this.#options));
      // Every command that fails with the connection says why.
      client.on('error', () => {});
      return await this.#connect(client);
    } catch (error) {
      if (client) destroy(client);
      throw connectError(error);
    }
  }

  async #connect(client: RedisClient): Promise<OwnConnection> {
    const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const { name = 'postcommit' } = this.#options;
    const lost = (): void => this.#replace(connection);
    const session = new Session(client as RedisClientLike, timeoutMs, lost);
    const server = await within(connectTimeoutMs, client, async () => {
      await client.connect();
      // Users who may only add to streams may not set the name. It is for people.
      await session.pipeline([['CLIENT', 'SETNAME', name]]);
      return serverInfo(session);
    });
    const connection = { client, session, server };
    client.on('error', lost);
    client.on('end', lost);
    return connection;
  }

  #replace(connection: OwnConnection): void {
    void this.#shared.lost(connection);
    destroy(connection.client);
  }
}

/** A client of the application, which reconnects it and closes it. */
export class BorrowedSessions implements Sessions {
  readonly #session: Session;
  #server: Promise<ServerInfo> | undefined;

  constructor(client: RedisClientLike, { timeoutMs = DEFAULT_TIMEOUT_MS }: AnyRedisOptions) {
    this.#session = new Session(client, timeoutMs);
  }

  get isConnected(): boolean {
    return this.#session.isReady;
  }

  /** While the client reconnects, it keeps commands and sends them later: after they were given up. */
  async get(): Promise<Connected> {
    if (!this.isConnected) throw notConnected();
    this.#server ??= serverInfo(this.#session);
    try {
      return { session: this.#session, server: await this.#server };
    } catch (error) {
      this.#server = undefined;
      throw connectError(error);
    }
  }

  /** The application's business. */
  outdated(): void {
    this.#server = undefined;
  }

  async close(): Promise<void> {
    this.#server = undefined;
  }
}

function notConnected(): UnavailableError {
  return new UnavailableError('Redis is not reachable', {
    isCertain: true,
    cause: new Error('the client of the application is closed or reconnecting'),
  });
}

/** The client has no time limit for logging in. */
async function within<T>(limitMs: number, client: RedisClient, connect: () => Promise<T>): Promise<T> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    destroy(client);
  }, limitMs);
  try {
    return await connect();
  } catch (error) {
    if (isLate) throw new Error(`no connection for ${limitMs} ms`, { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function destroy(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // It is closed already.
  }
}

async function clientOptions(
  options: AnyRedisOptions & RedisServerOptions,
): Promise<Parameters<typeof createClient>[0]> {
  const { url, tls, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = options;
  const address = addressOf(url);
  if (!address) throw new TypeError('url is not an address');
  const { host, port, isTls, database } = address;
  const [username, password] = await Promise.all([
    currentValue(options.username ?? address.username),
    currentValue(options.password ?? address.password),
  ]);
  const reach = { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false } as const;
  return {
    socket: isTls ? { ...tls, ...reach, tls: true } : reach,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    RESP: 2,
    disableOfflineQueue: true,
  };
}

async function currentValue(credential: Credential | undefined): Promise<string | undefined> {
  return typeof credential === 'function' ? credential() : credential;
}
