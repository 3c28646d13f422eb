import {
  isOutboxError,
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
import { DEFAULT_GRACE_MS, endsWithin, nameToken, systemClock } from '@postcommit/core/internal';
import { Attempt } from './attempt.js';
import { ChannelSource } from './channel-source.js';
import { Delivery, failAll, sendAll } from './delivery.js';
import { isAboutOneMessage } from './errors.js';
import { messageOf } from './message.js';
import { type RabbitmqPublisherOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { problemsOf } from './topology.js';

/** How often a channel may be closed in one wave. Halving finds five bad rows among a thousand. */
const MAX_CLOSED_CHANNELS = 50;

/** One wave: how long it may take, and how many more channels it may cost. */
interface Wave {
  readonly attempt: Attempt;
  channelsLeft: number;
}

/** Publishes rows to an exchange of RabbitMQ. A row is delivered when a queue has it and the broker has confirmed that. */
export class RabbitmqPublisher extends OutboxPublisher {
  static {
    nameToken(this, '@postcommit/publisher-rabbitmq/RabbitmqPublisher');
  }

  override readonly name = 'rabbitmq';
  readonly #options: ResolvedOptions;
  readonly #inFlight = new Set<Promise<unknown>>();
  #source: ChannelSource;

  /** @throws OutboxError `INVALID_CONFIG` for an invalid option. */
  constructor(options: RabbitmqPublisherOptions) {
    super();
    this.#options = resolveOptions(options);
    this.#source = new ChannelSource(this.#options);
  }

  override async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const [result] = await this.publishBatch([row], context);
    if (result?.status === 'rejected') throw result.reason;
  }

  override publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    const source = this.#source;
    const publishing = publishInWaves(rows, (wave) => this.#sendWave(wave, source, signal), { signal });
    this.#inFlight.add(publishing);
    return publishing.finally(() => this.#inFlight.delete(publishing));
  }

  /** Connects, and declares what `declare` says. */
  override async start(): Promise<void> {
    await this.#source.channel();
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions): Promise<void> {
    const stopped = this.#source;
    this.#source = new ChannelSource(this.#options);
    if (this.#inFlight.size > 0) await endsWithin(graceMs, Promise.allSettled(this.#inFlight), systemClock);
    await stopped.stop();
  }

  override async check(): Promise<readonly PublisherProblem[]> {
    return this.#source.inspect((connection) => problemsOf(connection, this.#options));
  }

  override health(): PublisherHealth {
    const { isOpen, blockedBecause } = this.#source;
    if (blockedBecause === undefined) return { isConnected: isOpen };
    return { isConnected: isOpen, problem: `RabbitMQ blocks its publishers: ${blockedBecause}` };
  }

  async #sendWave(
    rows: readonly OutboxRow[],
    source: ChannelSource,
    signal: AbortSignal,
  ): Promise<readonly PublishResult[]> {
    const results: (PublishResult | Delivery)[] = await Promise.all(rows.map((row) => this.#prepare(row)));
    const deliveries = results.filter((prepared) => prepared instanceof Delivery);
    if (deliveries.length > 0) await this.#deliver(deliveries, source, signal);
    return results.map((prepared) => (prepared instanceof Delivery ? resultOf(prepared) : prepared));
  }

  /** A row that can't be sent fails before anything is sent, and alone. */
  async #prepare(row: OutboxRow): Promise<Delivery | PublishResult> {
    try {
      return new Delivery(row, await messageOf(row, this.#options));
    } catch (reason) {
      return { status: 'rejected', reason };
    }
  }

  async #deliver(deliveries: readonly Delivery[], source: ChannelSource, signal: AbortSignal): Promise<void> {
    const { confirmTimeoutMs: timeoutMs } = this.#options;
    const attempt = new Attempt({ signal, stopped: source.stopped, timeoutMs });
    try {
      await this.#send(deliveries, source, { attempt, channelsLeft: MAX_CLOSED_CHANNELS });
    } catch (error) {
      const reason = this.#reasonOf(error, source);
      for (const delivery of deliveries) delivery.fail(reason);
    } finally {
      attempt.end();
    }
  }

  /**
   * Sends messages, and sends those again that were on a channel which the broker closed because of another one: it does
   * not say which. Halves of them go on channels of their own, until the one that closes its channel is alone.
   */
  async #send(deliveries: readonly Delivery[], source: ChannelSource, wave: Wave): Promise<void> {
    const { attempt } = wave;
    const channel = await attempt.within(source.channel());
    try {
      await sendAll(channel, deliveries, this.#options, attempt);
    } catch (error) {
      // What was not sent yet must not be sent later.
      source.abandon(channel);
      throw error;
    }
    const { closing } = channel;
    const unconfirmed = closing ? deliveries.filter(({ result }) => !result) : [];
    if (!closing || unconfirmed.length === 0) return;
    wave.channelsLeft -= 1;
    if (unconfirmed.length === 1 || !isAboutOneMessage(closing)) {
      return failAll(unconfirmed, closing, this.#options.exchange);
    }
    if (wave.channelsLeft <= 0) throw new UnavailableError('RabbitMQ closed too many channels', closing);
    const middle = Math.ceil(unconfirmed.length / 2);
    await this.#send(unconfirmed.slice(0, middle), source, wave);
    await this.#send(unconfirmed.slice(middle), source, wave);
  }

  #reasonOf(error: unknown, { blockedBecause }: ChannelSource): unknown {
    if (blockedBecause !== undefined && error instanceof UnavailableError) {
      const problem = `RabbitMQ blocks its publishers: ${blockedBecause}`;
      return new UnavailableError(problem, { isCertain: true, cause: error });
    }
    // Wrong options may be right at the next connect. They are no reason to give up rows.
    if (isOutboxError(error)) return new UnavailableError(error.message, { isCertain: true, cause: error });
    return error;
  }
}

/**
 * Publishes rows to an exchange of RabbitMQ, confirmed, persistent and mandatory.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 * @example
 * createOutbox({ store, publisher: rabbitmqPublisher({ url: 'amqp://localhost', exchange: 'events' }) });
 */
export function rabbitmqPublisher(options: RabbitmqPublisherOptions): OutboxPublisher {
  return new RabbitmqPublisher(options);
}

function resultOf({ result, row }: Delivery): PublishResult {
  return result ?? { status: 'rejected', reason: new UnavailableError(`no answer for row ${row.id}`) };
}
