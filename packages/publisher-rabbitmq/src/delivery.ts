import { type OutboxRow, PermanentError, type PublishResult, UnavailableError } from '@postcommit/core';
import type { Attempt } from './attempt.js';
import type { Answer, ConfirmedChannel } from './confirmed-channel.js';
import { type Closing, errorOfClosing } from './errors.js';
import type { Message } from './message.js';
import type { ResolvedOptions } from './options.js';

const FULFILLED: PublishResult = { status: 'fulfilled' };

/** One row on its way to the broker. */
export class Delivery {
  readonly row: OutboxRow;
  readonly message: Message;
  #result: PublishResult | undefined;

  constructor(row: OutboxRow, message: Message) {
    this.row = row;
    this.message = message;
  }

  /** Undefined while the broker has not answered. */
  get result(): PublishResult | undefined {
    return this.#result;
  }

  succeed(): void {
    this.#result ??= FULFILLED;
  }

  fail(reason: unknown): void {
    this.#result ??= { status: 'rejected', reason };
  }
}

/**
 * Sends messages on one channel, all of them before the first is confirmed, and waits for the answers. Those without an
 * answer when it resolves were unconfirmed when the channel closed.
 */
export async function sendAll(
  channel: ConfirmedChannel,
  deliveries: readonly Delivery[],
  options: ResolvedOptions,
  attempt: Attempt,
): Promise<void> {
  let unanswered = 0;
  let isSent = false;
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  for (const delivery of deliveries) {
    if (!channel.isWritable) await attempt.within(channel.writable());
    if (channel.closing) break;
    unanswered += 1;
    const onAnswer = (answer: Answer): void => {
      unanswered -= 1;
      settle(delivery, answer, channel, options);
      if (isSent && unanswered === 0) finish();
    };
    try {
      channel.send(delivery.message, onAnswer);
    } catch (cause) {
      unanswered -= 1;
      delivery.fail(
        new PermanentError(`row ${delivery.row.id} does not fit into a message of AMQP`, { cause }),
      );
    }
  }
  isSent = true;
  if (unanswered > 0) await attempt.within(finished);
}

function settle(
  delivery: Delivery,
  answer: Answer,
  { hasRouted }: ConfirmedChannel,
  options: ResolvedOptions,
): void {
  const { row, message } = delivery;
  if (answer === 'confirmed') delivery.succeed();
  if (answer === 'refused') {
    delivery.fail(new UnavailableError(`RabbitMQ refused row ${row.id} (nack): is a queue full?`));
  }
  if (answer === 'unroutable') delivery.fail(unroutable(message, hasRouted, options));
}

/** While some rows find a queue, one that does not says nothing about the others. */
function unroutable({ id, routingKey }: Message, hasRouted: boolean, options: ResolvedOptions): Error {
  const problem = `no queue takes row ${id}: exchange '${options.exchange}', routing key '${routingKey}'`;
  if (options.unroutable === 'permanent') return new PermanentError(problem);
  return new UnavailableError(problem, { isCertain: !hasRouted });
}

/** For messages that were unconfirmed when their channel closed. */
export function failAll(deliveries: readonly Delivery[], closing: Closing, exchange: string): void {
  for (const delivery of deliveries) delivery.fail(errorOfClosing(closing, delivery.row.id, exchange));
}
