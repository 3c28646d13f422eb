import { setTimeout } from 'node:timers/promises';
import { Consumer, type Message, stringDeserializers } from '@platformatic/kafka';
import type { ProcessedMessages } from '@postcommit/core';
import { inTransaction } from '@postcommit/store-pg';
import type pg from 'pg';

const GROUP = 'points';
const RETRY_MS = 200;

type OrderMessage = Message<string, string, string, string>;

export interface PointsConsumerOptions {
  readonly brokers: string[];
  readonly topic: string;
  readonly pool: pg.Pool;
  readonly processed: ProcessedMessages<pg.PoolClient>;
}

/** Credits the points of each order once, however often its message is delivered. */
export class PointsConsumer {
  readonly #options: PointsConsumerOptions;
  readonly #consumer: Consumer<string, string, string, string>;
  #stopsBeforeCommit = true;
  #isClosed = false;

  constructor(options: PointsConsumerOptions) {
    this.#options = options;
    this.#consumer = new Consumer({
      groupId: `${GROUP}-${options.topic}`, // of this run: a group waits for members that were killed
      clientId: GROUP,
      bootstrapBrokers: options.brokers,
      deserializers: stringDeserializers,
      autocommit: false, // the offset is committed when the work is
    });
  }

  /** Resolves after this many deliveries that were handled. */
  async run(deliveries: number): Promise<void> {
    let left = deliveries;
    while (left > 0 && !this.#isClosed) left -= await this.#consume(left);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#consumer.close(true);
  }

  /** Begins behind the last offset that was committed. Ends when a message could not be handled. */
  async #consume(most: number): Promise<number> {
    const { topic } = this.#options;
    let handled = 0;
    try {
      const position = { mode: 'committed', fallbackMode: 'earliest' } as const;
      const stream = await this.#consumer.consume({ topics: [topic], ...position });
      try {
        for await (const message of stream) {
          await this.#credit(message);
          handled += 1;
          if (this.#stopsBeforeCommit) break; // as if it had crashed: the message is delivered again
          await message.commit();
          if (handled === most) break;
        }
        this.#stopsBeforeCommit = false;
      } finally {
        await stream.close();
      }
    } catch (error) {
      if (this.#isClosed) return handled;
      console.log(`the consumer begins again: ${String(error)}`);
      await setTimeout(RETRY_MS);
    }
    return handled;
  }

  async #credit(message: OrderMessage): Promise<void> {
    const id = message.headers.get('outbox-id') ?? '';
    const { customer, points } = JSON.parse(message.value) as { customer: string; points: number };
    await inTransaction(this.#options.pool, async (tx) => {
      const wasFirst = await this.#options.processed.processOnce(tx, GROUP, id, async () => {
        await tx.query('update points set total = total + $2 where customer = $1', [customer, points]);
      });
      console.log(`${id}: ${wasFirst ? 'credited' : 'known'}`);
    });
  }
}
