import { connectRedis, startRedis } from '@internal/test-brokers/redis';
import { createOutbox } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { expect, onTestFinished, test, vi } from 'vitest';
import { redisPublisher } from '../src/index.js';
import { messagesIn, urlOf } from './redis-harness.js';
import { describeOnRedis } from './scene.js';

const ROWS = Number(process.env.POSTCOMMIT_KILL_ROWS ?? 2_000);
const KILLS = Number(process.env.POSTCOMMIT_KILLS ?? 3);
const KEYS = 50;
const BATCH = 500;

describeOnRedis('a server that is killed again and again under load', () => {
  test('loses nothing that was confirmed, and keeps the order of each key', {
    timeout: 600_000,
  }, async () => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    const publisher = redisPublisher({ url: urlOf(server), timeoutMs: 2_000 });
    const outbox = createOutbox({ store: memoryStore(), publisher, logger: false });
    onTestFinished(() => outbox.stop());
    await outbox.start();
    const entries = Array.from({ length: ROWS }, (_, number) => ({
      topic: 'orders',
      payload: { number },
      ...(number % 4 === 0 ? {} : { key: `key-${number % KEYS}` }),
    }));
    let dispatched = 0;
    outbox.on('batch', (batch) => {
      dispatched += batch.dispatched;
    });
    for (let done = 0; done < ROWS; done += BATCH) await outbox.enqueue(entries.slice(done, done + BATCH));
    for (let kill = 1; kill <= KILLS; kill++) {
      const enough = Math.floor((ROWS * kill) / (KILLS + 1));
      await vi.waitUntil(() => dispatched >= enough, { timeout: 120_000, interval: 5 });
      await server.kill();
      await server.start();
    }
    await vi.waitUntil(() => dispatched === ROWS, { timeout: 300_000 });
    expect((await outbox.store.count()).dead).toBe(0);
    const observer = await connectRedis(server);
    const messages = await messagesIn(observer, 'orders');
    observer.destroy();
    const numbers = messages.map(({ body }) => JSON.parse(Buffer.from(body).toString()).number as number);
    expect(new Set(numbers).size).toBe(ROWS);
    // A row may be there twice, at a kill between storing and answering; its first arrival counts.
    const first = [...new Set(numbers)];
    for (let key = 0; key < KEYS; key++) {
      const ofKey = first.filter((number) => number % KEYS === key && number % 4 !== 0);
      expect(ofKey, `key-${key}`).toEqual([...ofKey].sort((one, other) => one - other));
    }
  });
});
