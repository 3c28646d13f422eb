import { UnavailableError } from '@postcommit/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher } from '../src/index.js';
import { ownBroker, publish, reasonOf, row, rows } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const broker = await ownBroker();
const suffix = broker ? '' : ': no RabbitMQ to run on';
const patience = { timeout: 60_000 };

describe.skipIf(!broker)(`a broker that blocks its publishers${suffix}`, () => {
  const url = broker?.url ?? '';
  let test: TestExchange;
  let publisher: RabbitmqPublisher;

  beforeEach(async () => {
    test = await TestExchange.create(url);
    publisher = new RabbitmqPublisher({ url, exchange: test.exchange, confirmTimeoutMs: 1_000 });
    await publisher.start();
  });

  afterEach(async () => {
    await unblock();
    await publisher.stop({});
    await test.close();
  });

  /** As if the memory were full. */
  async function block(): Promise<void> {
    await broker?.control('set_vm_memory_high_watermark', 'absolute', '1');
  }

  async function unblock(): Promise<void> {
    await broker?.control('set_vm_memory_high_watermark', '0.6');
  }

  it('is away: rows wait, health says why, and the same publisher goes on', patience, async () => {
    await publish(publisher, [row()]);
    await block();
    // The broker says that it blocks when it gets a message.
    const given = rows(3);
    const first = publish(publisher, given.slice(0, 1));
    await expect.poll(() => publisher.health().problem).toContain('blocks its publishers');
    const second = publish(publisher, given.slice(1));
    for (const result of [...(await first), ...(await second)]) {
      expect(reasonOf(result)).toBeInstanceOf(UnavailableError);
      expect(reasonOf(result).message).toContain('blocks its publishers');
      expect(reasonOf(result).isCertain).toBe(true);
    }
    await unblock();
    const later = row();
    await expect
      .poll(async () => (await publish(publisher, [later]))[0]?.status, { timeout: 10_000 })
      .toBe('fulfilled');
    expect(publisher.health()).toEqual({ isConnected: true });
    await expect.poll(() => test.received.map(({ id }) => id)).toContain(later.id);
    const ghosts = test.received
      .map(({ id }) => id)
      .filter((id) => given.slice(1).some((one) => one.id === id));
    expect(ghosts, 'rows that were never sent').toEqual([]);
  });

  it('holds rows back and delivers them if it goes on in time', patience, async () => {
    await publisher.stop({});
    publisher = new RabbitmqPublisher({ url, exchange: test.exchange, confirmTimeoutMs: 30_000 });
    await publish(publisher, [row()]);
    await block();
    const first = publish(publisher, [row()]);
    await expect.poll(() => publisher.health().problem).toBeDefined();
    const second = publish(publisher, rows(20));
    await unblock();
    for (const result of [...(await first), ...(await second)]) expect(result.status).toBe('fulfilled');
    await expect.poll(() => test.received.length).toBe(22);
  });
});
