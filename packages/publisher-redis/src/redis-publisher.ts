import {
  OutboxPublisher,
  type OutboxRow,
  type PublishBatchContext,
  type PublishContext,
  type PublisherHealth,
  type PublisherProblem,
  type PublishResult,
  publishInWaves,
  type StopOptions,
  UnavailableError,
} from '@postcommit/core';
import { DEFAULT_GRACE_MS, endsWithin, systemClock } from '@postcommit/core/internal';
import { GiveUp } from './give-up.js';
import { connectError } from './redis-errors.js';
import {
  type AnyRedisOptions,
  assertRedisOptions,
  type RedisPublisherOptions,
  type RedisServerOptions,
} from './redis-options.js';
import { sendWave } from './send-wave.js';
import { serverProblems } from './server-check.js';
import { BorrowedSessions, type Connected, OwnSessions, type Sessions } from './sessions.js';

/** The most messages in one pipeline. */
const WAVE_ROWS = 500;

/**
 * Publishes rows to Redis Streams: a row is delivered when Redis has answered with the id of its entry, and what
 * `durability` asks for has happened.
 *
 * @throws `INVALID_CONFIG` for a wrong option.
 * @example
 * redisPublisher({ url: 'redis://localhost:6379' })
 */
export function redisPublisher(options: RedisPublisherOptions): OutboxPublisher {
  assertRedisOptions(options);
  return new RedisPublisher(options);
}

class RedisPublisher extends OutboxPublisher {
  override readonly name = 'redis';
  readonly #options: AnyRedisOptions;
  readonly #sessions: Sessions;
  readonly #inFlight = new Set<Promise<unknown>>();
  #stopped = new AbortController();

  constructor(options: AnyRedisOptions) {
    super();
    this.#options = options;
    this.#sessions = options.client
      ? new BorrowedSessions(options.client, options)
      : new OwnSessions(options as AnyRedisOptions & RedisServerOptions);
  }

  override async start(): Promise<void> {
    if (this.#stopped.signal.aborted) this.#stopped = new AbortController();
    await this.#connected();
  }

  async publish(row: OutboxRow, { signal }: PublishContext): Promise<void> {
    const [result] = await this.#tracked(this.#send([row], signal));
    if (result?.status !== 'fulfilled') throw result?.reason;
  }

  override async publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    return this.#tracked(this.#send(rows, signal));
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions): Promise<void> {
    const inFlight = Promise.allSettled([...this.#inFlight]);
    await endsWithin(graceMs, inFlight, systemClock);
    this.#stopped.abort(new UnavailableError('the publisher was stopped'));
    await this.#sessions.close();
  }

  override async check(): Promise<readonly PublisherProblem[]> {
    const connected = await this.#connected();
    try {
      return await serverProblems(connected, this.#options);
    } catch (error) {
      throw connectError(error);
    }
  }

  override health(): PublisherHealth {
    return { isConnected: this.#sessions.isConnected };
  }

  async #send(rows: readonly OutboxRow[], caller: AbortSignal): Promise<readonly PublishResult[]> {
    const giveUp = new GiveUp(AbortSignal.any([caller, this.#stopped.signal]));
    const { signal } = giveUp;
    const context = {
      options: this.#options,
      signal,
      connect: () => giveUp.orResult(() => this.#connected()),
      outdated: (connected: Connected) => this.#sessions.outdated(connected),
    };
    try {
      return await publishInWaves(rows, (wave) => sendWave(wave, context), { signal, maxRows: WAVE_ROWS });
    } finally {
      giveUp.end();
    }
  }

  async #connected(): Promise<Connected> {
    if (this.#stopped.signal.aborted) throw this.#stopped.signal.reason;
    return this.#sessions.get();
  }

  async #tracked<T>(sending: Promise<T>): Promise<T> {
    this.#inFlight.add(sending);
    try {
      return await sending;
    } finally {
      this.#inFlight.delete(sending);
    }
  }
}
