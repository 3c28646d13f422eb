import { UnavailableError } from '@postcommit/core';
import { SharedConnection } from '@postcommit/core/internal';
import { Queue } from 'bullmq';
import { type AnyBullmqOptions, type BullmqServerOptions, DEFAULT_TIMEOUT_MS } from './bullmq-options.js';
import { clientOf, type QueueLike, type RedisLike } from './queue-like.js';
import { connectError } from './redis-errors.js';
import { Session } from './session.js';

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;

/** Nothing is kept for later: what was given up meanwhile would be added then. */
const NOTHING_LATER = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  reconnectOnError: null,
  lazyConnect: false,
} as const;

/** Where the publisher gets its queue from. */
export interface Sessions {
  readonly isConnected: boolean;
  /** @throws UnavailableError */
  get(): Promise<Session>;
  /** The server can't take jobs any longer: the next `get` looks for another one. */
  outdated(session: Session): void;
  close(): Promise<void>;
}

/** A queue of its own, opened again after its connection was lost. */
export class OwnSessions implements Sessions {
  readonly #options: AnyBullmqOptions & BullmqServerOptions;
  readonly #shared: SharedConnection<Session>;

  constructor(options: AnyBullmqOptions & BullmqServerOptions) {
    this.#options = options;
    this.#shared = new SharedConnection({
      open: () => this.#open(),
      close: async ({ queue, client }) => destroy(queue, client),
    });
  }

  get isConnected(): boolean {
    return this.#shared.isOpen;
  }

  get(): Promise<Session> {
    return this.#shared.get();
  }

  outdated(session: Session): void {
    void this.#shared.lost(session);
    destroy(session.queue, session.client);
  }

  close(): Promise<void> {
    return this.#shared.close();
  }

  async #open(): Promise<Session> {
    let queue: QueueLike | undefined;
    try {
      queue = await this.#newQueue();
      return await this.#connected(queue);
    } catch (error) {
      if (queue) destroy(queue);
      throw connectError(error);
    }
  }

  async #newQueue(): Promise<QueueLike> {
    const { connection, name, prefix, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = this.#options;
    const reach = typeof connection === 'function' ? await connection() : connection;
    return new Queue(name, {
      connection: { ...reach, connectTimeout: connectTimeoutMs, ...NOTHING_LATER },
      ...(prefix !== undefined && { prefix }),
    });
  }

  async #connected(queue: QueueLike): Promise<Session> {
    const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    let firstError: Error | undefined;
    // Every job that fails with the connection says why.
    queue.on('error', (error) => {
      firstError ??= error;
    });
    try {
      await within(connectTimeoutMs, queue.waitUntilReady());
    } catch (error) {
      throw firstError ?? error;
    }
    const client = await clientOf(queue);
    client?.on?.('error', () => {});
    const session: Session = new Session(queue, client, timeoutMs, () => this.outdated(session));
    queue.on('ioredis:close', () => this.outdated(session));
    return session;
  }
}

/** A queue of the application, which reconnects it and closes it. */
export class BorrowedSessions implements Sessions {
  readonly #queue: QueueLike;
  readonly #timeoutMs: number;
  #session: Session | undefined;

  constructor(queue: QueueLike, { timeoutMs = DEFAULT_TIMEOUT_MS }: AnyBullmqOptions) {
    this.#queue = queue;
    this.#timeoutMs = timeoutMs;
  }

  get isConnected(): boolean {
    return this.#session?.isReady ?? false;
  }

  /** While the queue reconnects, its client may keep commands and send them later: after they were given up. */
  async get(): Promise<Session> {
    this.#session ??= await this.#connected();
    if (this.#session.isReady) return this.#session;
    throw notConnected(new Error('the queue of the application is closed or reconnecting'));
  }

  /** The application's business. */
  outdated(): void {}

  async close(): Promise<void> {
    this.#session = undefined;
  }

  async #connected(): Promise<Session> {
    try {
      await within(this.#timeoutMs, this.#queue.waitUntilReady());
      return new Session(this.#queue, await clientOf(this.#queue), this.#timeoutMs);
    } catch (error) {
      throw connectError(error);
    }
  }
}

function notConnected(cause: Error): UnavailableError {
  return new UnavailableError('Redis is not reachable', { isCertain: true, cause });
}

/** A login has no time limit of its own. */
async function within(limitMs: number, ready: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no connection for ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([ready, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the connection first: `close` waits for answers. */
function destroy(queue: QueueLike, client?: RedisLike): void {
  client?.disconnect?.();
  queue.close().catch(() => {});
}
