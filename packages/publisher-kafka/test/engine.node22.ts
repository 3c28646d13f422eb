import { KafkaLog } from '@internal/test-brokers/kafka';
import { createOutbox } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { expect, it, onTestFinished } from 'vitest';
import { kafkaPublisher } from '../src/index.js';
import { describeOnMock } from './mock-cluster.js';

const pollIntervalMs = 50;
const timeout = 20_000;

describeOnMock('an outbox on the mock cluster', 3, (cluster) => {
  const brokers = [1, 2, 3];

  function outboxOn(topics: readonly string[]) {
    const publisher = kafkaPublisher({ brokers: cluster.brokers, topics, timeoutMs: 2_000 });
    const outbox = createOutbox({ store: memoryStore(), publisher, pollIntervalMs, logger: false });
    onTestFinished(() => outbox.stop());
    return outbox;
  }

  it('delivers what was enqueued, in the order of a key', async () => {
    cluster.createTopic('orders', 3);
    const outbox = outboxOn(['orders']);
    await outbox.start();
    const ids: string[] = [];
    for (let number = 0; number < 30; number++)
      ids.push(...(await outbox.enqueue({ topic: 'orders', key: 'order-7', payload: { number } })));
    await expect.poll(async () => (await outbox.store.count()).dispatched, { timeout }).toBe(30);
    const log = await KafkaLog.open(cluster.brokers, 'orders');
    onTestFinished(() => log.close());
    expect((await log.read()).map(({ headers }) => headers['outbox-id'])).toEqual(ids);
  });

  it('starts although the brokers are away, and its rows keep their attempts', async () => {
    cluster.createTopic('waiting', 3);
    for (const broker of brokers) cluster.takeDown(broker);
    const outbox = outboxOn(['waiting']);
    await outbox.start();
    await outbox.enqueue([1, 2, 3].map((number) => ({ topic: 'waiting', payload: { number } })));
    await expect.poll(async () => (await outbox.health()).outages?.length, { timeout }).toBe(1);
    for (const broker of brokers) cluster.bringUp(broker);
    await expect.poll(async () => (await outbox.store.count()).dispatched, { timeout }).toBe(3);
    const rows = await outbox.store.peek({ state: 'dispatched' }, 3);
    expect(rows.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
  });

  it('fails the start if a topic does not exist', async () => {
    cluster.createTopic('nowhere', 1);
    cluster.failTopic('nowhere', 'unknownTopic');
    await expect(outboxOn(['nowhere']).start()).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining("Kafka topic 'nowhere' does not exist"),
    });
  });

  it('a topic that does not exist does not hold the rows of others', async () => {
    cluster.createTopic('here', 2);
    cluster.createTopic('gone', 1);
    cluster.failTopic('gone', 'unknownTopic');
    const outbox = outboxOn([]);
    await outbox.start();
    for (let number = 0; number < 20; number++)
      await outbox.enqueue([
        { topic: 'gone', payload: {} },
        { topic: 'here', payload: { number } },
      ]);
    await expect.poll(async () => (await outbox.store.count()).dispatched, { timeout }).toBe(20);
    cluster.failTopic('gone', 'none');
    await expect.poll(async () => (await outbox.store.count()).dispatched, { timeout }).toBe(40);
  });
});
