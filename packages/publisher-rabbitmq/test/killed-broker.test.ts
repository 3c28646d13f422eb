import { createOutbox } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { type ConsumeMessage, connect } from 'amqplib';
import { describe, expect, it } from 'vitest';
import { rabbitmqPublisher } from '../src/index.js';
import { ownBroker } from './broker.js';

const KEYS = 20;
const ROWS = Number(process.env.KILLED_BROKER_ROWS ?? 3_000);
const KILLS = Number(process.env.KILLED_BROKER_KILLS ?? 2);

const broker = await ownBroker();
const suffix = broker ? '' : ': no RabbitMQ to run on';

interface Arrival {
  readonly id: string;
  readonly key: string;
  readonly number: number;
}

describe.skipIf(!broker)(`a broker that is killed under load${suffix}`, () => {
  const url = broker?.url ?? '';

  it('has every row in the end, in the order of its key', { timeout: 600_000 }, async () => {
    await declareQueue();
    const publisher = rabbitmqPublisher({ url, exchange: 'load' });
    const outbox = createOutbox({ store: memoryStore(), publisher, pollIntervalMs: 50, batchSize: 100 });
    await outbox.start();
    const sent = new Set<string>();
    for (let kill = 0; kill <= KILLS; kill++) {
      await enqueue(ROWS / (KILLS + 1), sent);
      if (kill === KILLS) break;
      const before = (await outbox.store.count()).dispatched;
      // In the middle of the load, not between two loads.
      await expect
        .poll(async () => (await outbox.store.count()).dispatched, { timeout: 60_000, interval: 5 })
        .toBeGreaterThan(before);
      await broker?.kill();
      await broker?.start();
    }
    await expect
      .poll(() => outbox.store.count(), { timeout: 300_000 })
      .toMatchObject({ pending: 0, dead: 0 });
    await outbox.stop();
    const arrived = await all(sent.size);
    expect(new Set(arrived.map(({ id }) => id))).toEqual(sent);
    for (let key = 0; key < KEYS; key++) {
      const numbers = firsts(arrived.filter((one) => one.key === `key-${key}`));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }

    async function enqueue(count: number, ids: Set<string>): Promise<void> {
      const first = ids.size;
      const entries = Array.from({ length: count }, (_, index) => ({
        topic: 'orders',
        key: `key-${index % KEYS}`,
        payload: { number: first + index },
      }));
      for (const id of await outbox.enqueue(entries)) ids.add(id);
    }
  });

  /** Not a quorum queue: RabbitMQ 3.10 loses one if it is killed within seconds after the queue was declared. */
  async function declareQueue(): Promise<void> {
    const client = await connect(url);
    const channel = await client.createChannel();
    await channel.assertExchange('load', 'topic', { durable: true });
    await channel.assertQueue('load', { durable: true });
    await channel.bindQueue('load', 'load', '#');
    await client.close();
  }

  /** All that is in the queue. */
  async function all(least: number): Promise<Arrival[]> {
    const client = await connect(url);
    const channel = await client.createChannel();
    const { messageCount } = await channel.checkQueue('load');
    expect(messageCount).toBeGreaterThanOrEqual(least);
    const arrived: Arrival[] = [];
    await channel.consume('load', (message) => message && arrived.push(arrivalOf(message)));
    await expect.poll(() => arrived.length, { timeout: 60_000 }).toBe(messageCount);
    await client.close();
    return arrived;
  }
});

function arrivalOf({ content, properties }: ConsumeMessage): Arrival {
  const { number } = JSON.parse(content.toString()) as { number: number };
  return { id: properties.messageId, key: properties.headers?.['outbox-key'], number };
}

/** The order of first arrivals. A row may arrive again. */
function firsts(arrivals: readonly Arrival[]): number[] {
  return [...new Set(arrivals.map(({ number }) => number))];
}
