import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { ProcessedMessages } from '@postcommit/core';
import { handleOnce, messageIdOf } from '@postcommit/inbox';
import { inTransaction } from '@postcommit/store-pg';
import type pg from 'pg';

const NAME = 'points';

/** Credits the points of each order once, however often its message is delivered. */
export class PointsConsumer {
  readonly #connection: NatsConnection;
  readonly #pool: pg.Pool;
  readonly #processed: ProcessedMessages<pg.PoolClient>;
  #losesAcknowledgement = true;

  constructor(connection: NatsConnection, pool: pg.Pool, processed: ProcessedMessages<pg.PoolClient>) {
    this.#connection = connection;
    this.#pool = pool;
    this.#processed = processed;
  }

  /** Resolves after this many deliveries that were handled. */
  async run(stream: string, deliveries: number): Promise<void> {
    const manager = await jetstreamManager(this.#connection);
    const settings = { durable_name: NAME, ack_policy: AckPolicy.Explicit, max_ack_pending: 1 };
    await manager.consumers.add(stream, settings);
    const consumer = await jetstream(this.#connection).consumers.get(stream, NAME);
    for await (const message of await consumer.consume()) {
      if (await this.#settle(message)) deliveries -= 1;
      if (deliveries === 0) break;
    }
  }

  /** This example cleans up; a real consumer leaves the stream alone. */
  async deleteStream(stream: string): Promise<void> {
    const manager = await jetstreamManager(this.#connection);
    await manager.streams.delete(stream);
  }

  /** Acknowledges after the commit. What fails is delivered again. */
  async #settle(message: JsMsg): Promise<boolean> {
    try {
      await this.#credit(message);
    } catch (error) {
      console.log(`delivery ${message.info.deliveryCount} failed: ${String(error)}`);
      message.nak(200);
      return false;
    }
    if (this.#losesAcknowledgement) {
      this.#losesAcknowledgement = false;
      message.nak(200); // as if the acknowledgement had got lost: it is delivered again
    } else {
      await message.ackAck();
    }
    return true;
  }

  async #credit(message: JsMsg): Promise<void> {
    const id = messageIdOf(message);
    const { customer, points } = message.json<{ customer: string; points: number }>();
    const wasFirst = await inTransaction(this.#pool, (tx) =>
      handleOnce(this.#processed, tx, { consumer: NAME, id }, async () => {
        await tx.query('update points set total = total + $2 where customer = $1', [customer, points]);
      }),
    );
    console.log(`delivery ${message.info.deliveryCount} of ${id}: ${wasFirst ? 'credited' : 'known'}`);
  }
}
