import { PermanentError, UnavailableError } from '@postcommit/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher, type RabbitmqPublisherOptions } from '../src/index.js';
import { anyBroker, publish, reasonOf, row, rows } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const url = await anyBroker();
const suffix = url === undefined ? ': no RabbitMQ to run on' : '';

describe.skipIf(url === undefined)(`a row that no queue takes${suffix}`, () => {
  let test: TestExchange;
  let publisher: RabbitmqPublisher;

  beforeEach(async () => {
    test = await TestExchange.create(url ?? '');
    publisher = create({});
  });

  afterEach(async () => {
    await publisher.stop({});
    await test.close();
  });

  function create(options: Partial<RabbitmqPublisherOptions>): RabbitmqPublisher {
    return new RabbitmqPublisher({ url, exchange: test.exchange, ...options });
  }

  it('is unavailable, certainly so while nothing has found a queue, and names the place', async () => {
    const reason = reasonOf((await publish(publisher, [row({ topic: 'nowhere' })]))[0]);
    expect(reason).toBeInstanceOf(UnavailableError);
    expect(reason.isCertain).toBe(true);
    expect(reason.message).toContain(test.exchange);
    expect(reason.message).toContain("'nowhere'");
  });

  it('does not speak for rows that find one', async () => {
    const results = await publish(publisher, [row(), row({ topic: 'nowhere' }), row()]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(reasonOf(results[1]).isCertain).toBe(false);
  });

  it('is delivered once a queue is bound', async () => {
    const waiting = row({ topic: 'later' });
    reasonOf((await publish(publisher, [waiting]))[0]);
    await test.channel.bindQueue(test.queue, test.exchange, 'later');
    expect(await publish(publisher, [waiting])).toEqual([{ status: 'fulfilled' }]);
    await expect.poll(() => test.received.map(({ id }) => id)).toEqual([waiting.id]);
  });

  it("is dead at once with unroutable: 'permanent'", async () => {
    await publisher.stop({});
    publisher = create({ unroutable: 'permanent' });
    const reason = reasonOf((await publish(publisher, [row({ topic: 'nowhere' })]))[0]);
    expect(reason).toBeInstanceOf(PermanentError);
  });

  it('does not count as delivered if its id is in flight twice', async () => {
    const twice = row({ topic: 'nowhere' });
    const results = await publish(publisher, [twice, row(), twice]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  });

  it('is told apart from a row with the same id and another routing key', async () => {
    const routed = row();
    const results = await publish(publisher, [{ ...routed, topic: 'nowhere' }, routed]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('is the one that fails after a batch was broken off', async () => {
    const giveUp = new AbortController();
    await publish(publisher, [row()]);
    const brokenOff = publish(publisher, [...rows(50), row({ topic: 'nowhere' })], giveUp.signal);
    giveUp.abort(new Error('given up'));
    await brokenOff;
    const results = await publish(publisher, [row(), row({ topic: 'nowhere' }), row()]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('is one whose queue is missing, on the default exchange', async () => {
    await publisher.stop({});
    publisher = new RabbitmqPublisher({
      url,
      exchange: '',
      routingKey: ({ topic }) => `${test.queue}${topic}`,
    });
    await publisher.start();
    expect(await publisher.check()).toEqual([]);
    const routed = row({ topic: '' });
    const results = await publish(publisher, [routed, row({ topic: '-missing' })]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect.poll(() => test.received.map(({ id }) => id)).toEqual([routed.id]);
  });
});
