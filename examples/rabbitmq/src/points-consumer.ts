import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessedMessages } from '@postcommit/core';
import { handleOnce, messageIdOf } from '@postcommit/inbox';
import { inTransaction } from '@postcommit/store-pg';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type pg from 'pg';

const NAME = 'points';

/** Credits the points of each order once, however often its message is delivered. */
export class PointsConsumer {
  readonly #client: ChannelModel;
  readonly #pool: pg.Pool;
  readonly #processed: ProcessedMessages<pg.PoolClient>;
  #losesAcknowledgement = true;

  constructor(client: ChannelModel, pool: pg.Pool, processed: ProcessedMessages<pg.PoolClient>) {
    this.#client = client;
    this.#pool = pool;
    this.#processed = processed;
  }

  /** Resolves after this many deliveries that were handled. */
  async run(queue: string, deliveries: number): Promise<void> {
    const channel = await this.#client.createChannel();
    await channel.prefetch(1); // in order, also when a message comes again
    let left = deliveries;
    await new Promise<void>((resolve, reject) => {
      const handle = async (message: ConsumeMessage | null): Promise<void> => {
        if (message && (await this.#settle(channel, message))) left -= 1;
        if (left === 0) resolve();
      };
      channel.consume(queue, (message) => void handle(message).catch(reject)).catch(reject);
    });
  }

  /** Acknowledges after the commit. What fails is delivered again. */
  async #settle(channel: Channel, message: ConsumeMessage): Promise<boolean> {
    try {
      await this.#credit(message);
    } catch (error) {
      console.log(`a delivery failed: ${String(error)}`);
      await delay(200); // RabbitMQ would deliver it again at once
      channel.nack(message);
      return false;
    }
    if (this.#losesAcknowledgement) {
      this.#losesAcknowledgement = false;
      channel.nack(message); // as if the acknowledgement had got lost: it is delivered again
    } else {
      channel.ack(message);
    }
    return true;
  }

  async #credit(message: ConsumeMessage): Promise<void> {
    const id = messageIdOf(message);
    const { customer, points } = JSON.parse(message.content.toString()) as {
      customer: string;
      points: number;
    };
    const wasFirst = await inTransaction(this.#pool, (tx) =>
      handleOnce(this.#processed, tx, { consumer: NAME, id }, async () => {
        await tx.query('update points set total = total + $2 where customer = $1', [customer, points]);
      }),
    );
    const delivery = message.fields.redelivered ? 'another delivery' : 'a delivery';
    console.log(`${delivery} of ${id}: ${wasFirst ? 'credited' : 'known'}`);
  }
}
