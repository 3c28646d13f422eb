import { type OutboxRow, PermanentError, type PublishResult, UnavailableError } from '@postcommit/core';
import type { Attempt } from './attempt.js';
import type { Answer, ConfirmedChannel } from './confirmed-channel.js';
import type { Message } from './message.js';

const FULFILLED: PublishResult = { status: 'fulfilled' };

/** One row on its way to the broker. */
export class Delivery {
  readonly row: OutboxRow;
  readonly message: Message;
  #result: PublishResult | undefined;
  #wasReturned = false;

  constructor(row: OutboxRow, message: Message) {
    this.row = row;
    this.message = message;
  }

  get result(): PublishResult | undefined {
    return this.#result;
  }

  /** The broker has it back: no queue takes it. What that means is decided when the others are known. */
  get wasReturned(): boolean {
    return this.#wasReturned;
  }

  /** False while the broker may still say something. */
  get isAnswered(): boolean {
    return this.#wasReturned || this.#result !== undefined;
  }

  answered(answer: Answer): void {
    if (answer === 'confirmed') this.#result ??= FULFILLED;
    if (answer === 'unroutable') this.#wasReturned = true;
    if (answer === 'refused') {
      this.fail(new UnavailableError(`RabbitMQ refused row ${this.row.id} (nack): is a queue full?`));
    }
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
  attempt: Attempt,
): Promise<void> {
  const answers = new Answers(attempt);
  for (const delivery of deliveries) {
    if (!channel.isWritable) await attempt.within(channel.writable());
    if (channel.closing) break;
    sendOne(channel, delivery, answers);
  }
  await answers.all();
}

function sendOne(channel: ConfirmedChannel, delivery: Delivery, answers: Answers): void {
  answers.expectOne();
  try {
    channel.send(delivery.message, (answer) => {
      delivery.answered(answer);
      answers.cameIn();
    });
  } catch (cause) {
    delivery.fail(
      new PermanentError(`row ${delivery.row.id} does not fit into a message of AMQP`, { cause }),
    );
    answers.cameIn();
  }
}

/** Counts answers: a promise for each row would cost more than sending it. */
class Answers {
  readonly #attempt: Attempt;
  #missing = 0;
  #onLast: (() => void) | undefined;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  expectOne(): void {
    this.#missing += 1;
  }

  cameIn(): void {
    this.#missing -= 1;
    this.#attempt.progressed();
    if (this.#missing === 0) this.#onLast?.();
  }

  /** Resolves when all that were expected have come in. */
  async all(): Promise<void> {
    if (this.#missing === 0) return;
    await this.#attempt.within(
      new Promise<void>((resolve) => {
        this.#onLast = resolve;
      }),
    );
  }
}
