import { isOutboxError, PermanentError, UnavailableError } from '@postcommit/core';
import { Attempt } from './attempt.js';
import type { ChannelSource } from './channel-source.js';
import type { ConfirmedChannel } from './confirmed-channel.js';
import { type Delivery, sendAll } from './delivery.js';
import { blocked, type Closing, errorOfClosing, isAboutOneMessage } from './errors.js';
import type { Message } from './message.js';
import type { ResolvedOptions } from './options.js';

/** How often a channel may be closed in one wave. Halving finds five bad rows among a thousand. */
const MAX_CLOSED_CHANNELS = 50;

/** Sends messages that need not be in order, within one time limit. Every delivery has a result afterwards. */
export async function sendWave(
  deliveries: readonly Delivery[],
  source: ChannelSource,
  options: ResolvedOptions,
  signal: AbortSignal,
): Promise<void> {
  const attempt = new Attempt({ signal, stopped: source.stopped, timeoutMs: options.confirmTimeoutMs });
  try {
    await new Wave(source, options, attempt).send(deliveries);
  } catch (error) {
    for (const delivery of deliveries) if (!delivery.wasReturned) delivery.fail(unlessOption(error));
  } finally {
    attempt.end();
  }
  if (deliveries.some(({ result }) => result?.status === 'fulfilled')) source.hasRouted = true;
  for (const delivery of deliveries) {
    if (delivery.wasReturned) delivery.fail(unroutable(delivery.message, source, options));
  }
}

class Wave {
  readonly #source: ChannelSource;
  readonly #options: ResolvedOptions;
  readonly #attempt: Attempt;
  #closedChannels = 0;

  constructor(source: ChannelSource, options: ResolvedOptions, attempt: Attempt) {
    this.#source = source;
    this.#options = options;
    this.#attempt = attempt;
  }

  async send(deliveries: readonly Delivery[]): Promise<void> {
    const channel = await this.#attempt.within(this.#source.channel());
    this.#attempt.progressed();
    await this.#sendOn(channel, deliveries);
    const { closing } = channel;
    if (!closing) return;
    const unanswered = deliveries.filter(({ isAnswered }) => !isAnswered);
    if (isAboutOneMessage(closing)) await this.#isolate(unanswered);
    else this.#failAll(unanswered, closing);
  }

  /**
   * Sends messages again that were unconfirmed when the broker closed their channel because of one message: it does not
   * say which, and it may be one of another batch. Halves of them go on channels of their own, until the one that closes
   * its channel is alone on it.
   */
  async #isolate(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    const channel = await this.#attempt.within(this.#source.newChannel());
    await this.#sendOn(channel, deliveries);
    const { closing } = channel;
    if (!closing) return channel.close();
    const unanswered = deliveries.filter(({ isAnswered }) => !isAnswered);
    if (unanswered.length <= 1 || !isAboutOneMessage(closing)) return this.#failAll(unanswered, closing);
    this.#closedChannels += 1;
    if (this.#closedChannels >= MAX_CLOSED_CHANNELS) {
      throw new UnavailableError('RabbitMQ closed too many channels', { cause: closing.cause });
    }
    const middle = Math.ceil(unanswered.length / 2);
    await this.#isolate(unanswered.slice(0, middle));
    await this.#isolate(unanswered.slice(middle));
  }

  async #sendOn(channel: ConfirmedChannel, deliveries: readonly Delivery[]): Promise<void> {
    try {
      await sendAll(channel, deliveries, this.#attempt);
    } catch (error) {
      const { blockedBecause } = channel.connection;
      // What was not sent yet must not be sent later.
      this.#source.abandon(channel);
      throw blockedBecause === undefined || !(error instanceof UnavailableError)
        ? error
        : blocked(blockedBecause, error);
    }
  }

  #failAll(deliveries: readonly Delivery[], closing: Closing): void {
    const { exchange } = this.#options;
    for (const delivery of deliveries) delivery.fail(errorOfClosing(closing, delivery.row.id, exchange));
  }
}

/** Wrong options may be right at the next connect. They are no reason to give up rows. */
function unlessOption(error: unknown): unknown {
  if (!isOutboxError(error)) return error;
  return new UnavailableError(error.message, { isCertain: true, cause: error });
}

/** While some rows find a queue, one that does not says nothing about the others. */
function unroutable(
  { id, routingKey }: Message,
  { hasRouted }: ChannelSource,
  options: ResolvedOptions,
): Error {
  const problem = `no queue takes row ${id}: exchange '${options.exchange}', routing key '${routingKey}'`;
  if (options.unroutable === 'permanent') return new PermanentError(problem);
  return new UnavailableError(problem, { isCertain: !hasRouted });
}
