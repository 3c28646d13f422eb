import { composeModules, createOutbox, OutboxModule, OutboxPublisher, OutboxWorker } from '@postcommit/core';
import { memoryStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OutboxRabbitmqModule, RabbitmqPublisher, rabbitmqPublisher } from '../src/index.js';
import { ownBroker } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const broker = await ownBroker();
const suffix = broker ? '' : ': no RabbitMQ to run on';
const pollIntervalMs = 50;

describe.skipIf(!broker)(`an outbox on RabbitMQ${suffix}`, () => {
  const url = broker?.url ?? '';
  let test: TestExchange;

  beforeEach(async () => {
    test = await TestExchange.create(url);
  });

  afterEach(() => test.close());

  it('delivers what was enqueued, in the order of a key', async () => {
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: rabbitmqPublisher({ url, exchange: test.exchange }),
      pollIntervalMs,
    });
    await outbox.start();
    const ids: string[] = [];
    for (let number = 0; number < 30; number++) {
      ids.push(...(await outbox.enqueue({ topic: 'orders', key: 'order-7', payload: { number } })));
    }
    await expect.poll(() => test.received.map(({ id }) => id), { timeout: 10_000 }).toEqual(ids);
    await expect.poll(async () => (await outbox.store.count()).dispatched).toBe(30);
    await outbox.stop();
  });

  it('starts although the broker is away, and its rows keep their attempts', {
    timeout: 90_000,
  }, async () => {
    const publisher = rabbitmqPublisher({ url, exchange: test.exchange });
    const outbox = createOutbox({ store: memoryStore(), publisher, pollIntervalMs });
    await broker?.kill();
    await outbox.start();
    const [id = ''] = await outbox.enqueue({ topic: 'orders', payload: {} });
    await expect.poll(async () => (await outbox.health()).outages?.length, { timeout: 10_000 }).toBe(1);
    await test.restart({ url, restart: async () => broker?.start() });
    await expect.poll(() => test.received.map((message) => message.id), { timeout: 45_000 }).toContain(id);
    await expect.poll(async () => (await outbox.store.count()).dispatched).toBe(1);
    const [dispatched] = await outbox.store.peek({ id, state: 'dispatched' }, 1);
    expect(dispatched?.attempts).toBe(0);
    await outbox.stop();
  });

  it('is composed from modules', async () => {
    const app = composeModules([
      OutboxModule.forRoot({ pollIntervalMs }),
      OutboxMemoryModule,
      OutboxRabbitmqModule.forRoot({ url, exchange: test.exchange }),
    ]);
    expect(app.get(OutboxPublisher)).toBe(app.get(RabbitmqPublisher));
    expect(app.get(OutboxWorker)).toBeDefined();
    await app.start();
    expect(app.get(RabbitmqPublisher).health()).toEqual({ isConnected: true });
    await app.stop();
    expect(app.get(RabbitmqPublisher).health()).toEqual({ isConnected: false });
  });
});
