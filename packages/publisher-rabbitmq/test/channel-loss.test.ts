import { PermanentError, UnavailableError } from '@postcommit/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher } from '../src/index.js';
import { ownBroker, publish, reasonOf, row, rows } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const LARGEST = 100_000;
const FRAME = 16_384;
const config = [`max_message_size = ${LARGEST}`, `frame_max = ${FRAME}`];
const broker = await ownBroker({ config });
const suffix = broker ? '' : ': no RabbitMQ to run on';
const tooLarge = { payload: 'x'.repeat(LARGEST) };

describe.skipIf(!broker)(`a channel that the broker closes${suffix}`, () => {
  const url = broker?.url ?? '';
  let test: TestExchange;
  let publisher: RabbitmqPublisher;

  beforeEach(async () => {
    test = await TestExchange.create(url);
    publisher = new RabbitmqPublisher({ url, exchange: test.exchange });
    await publisher.start();
  });

  afterEach(async () => {
    await publisher.stop({});
    await test.close();
  });

  it('costs only the row that it was closed for', async () => {
    const batch = rows(100, (index) => (index === 37 ? tooLarge : {}));
    const results = await publish(publisher, batch);
    const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
    expect(failed).toEqual([37]);
    expect(reasonOf(results[37])).toBeInstanceOf(PermanentError);
    expect(reasonOf(results[37]).message).toContain(batch[37]?.id);
    const others = batch.filter((_, index) => index !== 37).map(({ id }) => id);
    await expect.poll(() => new Set(test.received.map(({ id }) => id))).toEqual(new Set(others));
  });

  it.each([{ bad: [0] }, { bad: [99] }, { bad: [3, 4, 60, 99] }])(
    'is found for the rows $bad of 100',
    async ({ bad }) => {
      const results = await publish(
        publisher,
        rows(100, (index) => (bad.includes(index) ? tooLarge : {})),
      );
      const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
      expect(failed).toEqual(bad);
    },
  );

  it('is not closed for headers that are larger than a frame: their row is refused before', async () => {
    const headers = { large: 'x'.repeat(FRAME) };
    const results = await publish(
      publisher,
      rows(10, (index) => (index === 4 ? { headers } : {})),
    );
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([4]);
    expect(reasonOf(results[4])).toBeInstanceOf(PermanentError);
    const fitting = row({ headers: { large: 'x'.repeat(FRAME - 1_500) } });
    expect(await publish(publisher, [fitting])).toEqual([{ status: 'fulfilled' }]);
  });

  it('does not change the order of a key', async () => {
    const key = { key: 'order-7' };
    const batch = rows(20, (index) => (index === 7 ? { ...tooLarge, key: 'other' } : key));
    const results = await publish(publisher, batch);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    const ids = batch.filter((one) => one.key === 'order-7').map(({ id }) => id);
    await expect.poll(() => [...new Set(test.received.map(({ id }) => id))]).toEqual(ids);
  });

  it('costs a bounded number of channels if every row is bad, and no row is given up for another', async () => {
    const results = await publish(
      publisher,
      rows(200, () => tooLarge),
    );
    for (const result of results) {
      expect([PermanentError, UnavailableError]).toContain(reasonOf(result).constructor);
    }
    expect(results.filter((result) => reasonOf(result) instanceof PermanentError).length).toBeLessThan(100);
    expect(await publish(publisher, [row()])).toEqual([{ status: 'fulfilled' }]);
  });

  it('leaves rows of other batches unharmed', async () => {
    const batches = [rows(50, (index) => (index === 10 ? tooLarge : {})), rows(50), rows(50)];
    const results = await Promise.all(batches.map((batch) => publish(publisher, batch)));
    expect(results.map((batch) => batch.filter(({ status }) => status === 'rejected').length)).toEqual([
      1, 0, 0,
    ]);
  });

  it('means that all rows wait if the exchange is missing, and is open again once it exists', async () => {
    await test.channel.deleteExchange(test.exchange);
    for (const result of await publish(publisher, rows(10))) {
      expect(reasonOf(result)).toBeInstanceOf(UnavailableError);
      expect(reasonOf(result)).toMatchObject({ isCertain: true });
      expect(reasonOf(result).message).toContain(test.exchange);
    }
    await test.channel.assertExchange(test.exchange, 'topic', { durable: true });
    await test.channel.bindQueue(test.queue, test.exchange, 'orders');
    expect(await publish(publisher, [row()])).toEqual([{ status: 'fulfilled' }]);
  });

  it('costs only the row whose topic its user may not send', { timeout: 60_000 }, async () => {
    await broker?.control('set_topic_permissions', 'app', test.exchange, '^orders$', '.*');
    await publisher.stop({});
    await publisher.start();
    const batch = rows(10, (index) => (index === 4 ? { topic: 'secret' } : {}));
    const results = await publish(publisher, batch);
    await broker?.control('clear_topic_permissions', 'app');
    expect(results.map(({ status }) => status).filter((status) => status === 'rejected')).toHaveLength(1);
    expect(reasonOf(results[4])).toBeInstanceOf(UnavailableError);
  });
});
