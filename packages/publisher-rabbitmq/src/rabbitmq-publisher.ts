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
import { DEFAULT_GRACE_MS, endsWithin, nameToken, systemClock } from '@postcommit/core/internal';
import { ChannelSource } from './channel-source.js';
import { Delivery } from './delivery.js';
import { blockedText } from './errors.js';
import { messageOf } from './message.js';
import { type RabbitmqPublisherOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { sendWave } from './send-wave.js';
import { problemsOf } from './topology.js';

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
    return { isConnected: isOpen, problem: blockedText(blockedBecause) };
  }

  async #sendWave(
    rows: readonly OutboxRow[],
    source: ChannelSource,
    signal: AbortSignal,
  ): Promise<readonly PublishResult[]> {
    const results: (PublishResult | Delivery)[] = await Promise.all(rows.map((row) => this.#prepare(row)));
    const deliveries = results.filter((prepared) => prepared instanceof Delivery);
    if (deliveries.length > 0) await sendWave(deliveries, source, this.#options, signal);
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
