import {
  isOutboxError,
  OutboxPublisher,
  type OutboxRow,
  type PublishBatchContext,
  type PublishContext,
  type PublisherCheckContext,
  type PublisherHealth,
  type PublisherProblem,
  type PublishResult,
  publishInWaves,
  type StopOptions,
  UnavailableError,
} from '@postcommit/core';
import { DEFAULT_GRACE_MS, endsWithin, systemClock } from '@postcommit/core/internal';
import { GiveUp } from './give-up.js';
import { assertFits, type NatsMessage, toMessage } from './nats-message.js';
import { assertNatsOptions, type NatsPublisherOptions } from './nats-options.js';
import { isTimeout, publishError } from './publish-errors.js';
import { BorrowedSessions, OwnSessions, type Session, type Sessions } from './sessions.js';
import { StreamTopology } from './stream-topology.js';

const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * Publishes rows to NATS JetStream: a row is delivered when its stream has confirmed it. The id of the row is the id of
 * the message, so that the stream drops what is published twice within its window.
 *
 * @throws `INVALID_CONFIG` for a wrong option.
 * @example
 * natsPublisher({ servers: 'nats://localhost:4222', stream: 'ORDERS', subjects: ['orders.>'] })
 */
export function natsPublisher(options: NatsPublisherOptions): OutboxPublisher {
  assertNatsOptions(options);
  return new NatsPublisher(options);
}

class NatsPublisher extends OutboxPublisher {
  override readonly name = 'nats';
  readonly #options: NatsPublisherOptions;
  readonly #timeoutMs: number;
  readonly #sessions: Sessions;
  readonly #topology: StreamTopology;
  readonly #inFlight = new Set<Promise<unknown>>();
  #stopped = new AbortController();

  constructor(options: NatsPublisherOptions) {
    super();
    const { connection, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    this.#topology = new StreamTopology(options, timeoutMs);
    this.#sessions = connection ? new BorrowedSessions(connection, options) : new OwnSessions(options);
  }

  override async start(): Promise<void> {
    if (this.#stopped.signal.aborted) this.#stopped = new AbortController();
    await this.#session();
  }

  async publish(row: OutboxRow, { signal }: PublishContext): Promise<void> {
    await this.#tracked(this.#givingUp(signal, (giveUp) => this.#send(row, giveUp)));
  }

  override async publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    const sending = this.#givingUp(signal, (giveUp) =>
      publishInWaves(rows, (wave) => Promise.allSettled(wave.map((row) => this.#send(row, giveUp))), {
        signal: giveUp.signal,
      }),
    );
    return this.#tracked(sending);
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions): Promise<void> {
    const inFlight = Promise.allSettled([...this.#inFlight]);
    await endsWithin(graceMs, inFlight, systemClock);
    this.#stopped.abort(new UnavailableError('the publisher was stopped'));
    await this.#sessions.close();
    this.#topology.forget();
  }

  override async check(context: PublisherCheckContext): Promise<readonly PublisherProblem[]> {
    return this.#topology.problems(await this.#session(), context);
  }

  override health(): PublisherHealth {
    return { isConnected: this.#sessions.isConnected };
  }

  async #send(row: OutboxRow, giveUp: GiveUp): Promise<void> {
    const message = await toMessage(row, this.#options);
    const session = await giveUp.orResult(() => this.#sessionForRow());
    const maxBytes = session.connection.info?.max_payload;
    if (maxBytes !== undefined) assertFits(row, message, maxBytes);
    try {
      await giveUp.orResult(() => this.#confirmed(session, message));
    } catch (error) {
      if (giveUp.signal.aborted) throw giveUp.signal.reason;
      if (isTimeout(error)) this.#sessions.suspect(session);
      const { subject } = message;
      throw publishError(error, { id: row.id, subject, stream: this.#options.stream });
    }
  }

  async #confirmed({ js }: Session, { subject, body, headers }: NatsMessage): Promise<void> {
    const ack: unknown = await js.publish(subject, body, { headers, timeout: this.#timeoutMs });
    // Whoever subscribes to the subject may answer too, and the first answer counts.
    if (isAck(ack, this.#options.stream)) return;
    throw new UnavailableError(`${subject} was answered, but not by the stream`);
  }

  /** What would have failed the start is not the row's fault. */
  async #sessionForRow(): Promise<Session> {
    try {
      return await this.#session();
    } catch (error) {
      if (!isOutboxError(error)) throw error;
      throw new UnavailableError(error.message, { isCertain: true, cause: error });
    }
  }

  async #session(): Promise<Session> {
    if (this.#stopped.signal.aborted) throw this.#stopped.signal.reason;
    const session = await this.#sessions.get();
    await this.#topology.ensure(session);
    return session;
  }

  async #givingUp<T>(signal: AbortSignal, work: (giveUp: GiveUp) => Promise<T>): Promise<T> {
    const giveUp = new GiveUp(AbortSignal.any([signal, this.#stopped.signal]));
    try {
      return await work(giveUp);
    } finally {
      giveUp.end();
    }
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

function isAck(ack: unknown, stream: string | undefined): boolean {
  const { stream: by, seq } = (ack ?? {}) as { stream?: unknown; seq?: unknown };
  return typeof by === 'string' && typeof seq === 'number' && (stream === undefined || by === stream);
}
