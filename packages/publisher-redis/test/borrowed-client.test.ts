import { createOutbox, type OutboxPublisher } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { createClient } from '@redis/client';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { OutboxRedisModule, type RedisClientLike } from '../src/index.js';
import { closeRedisServers, PASSWORD } from './redis-harness.js';
import { describeOnRedis, failureOf, openRedisScene, type RedisScene, rowOf } from './scene.js';

afterAll(closeRedisServers);

interface Borrowed {
  readonly client: RedisClientLike & { destroy(): void };
  readonly publisher: OutboxPublisher;
}

/** With the client's defaults: it has an offline queue, and reconnects. */
async function borrowed(scene: RedisScene): Promise<Borrowed> {
  const { host, port } = scene.link;
  const client = createClient({ socket: { host, port, reconnectStrategy: 50 }, password: PASSWORD });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => {
    if (client.isOpen) client.destroy();
  });
  return { client, publisher: scene.publisher({ client }) };
}

const away = { name: 'UnavailableError', isCertain: true };

describeOnRedis('a client of the application', () => {
  test('publishes, and survives a stop', async () => {
    const scene = await openRedisScene();
    const { client, publisher } = await borrowed(scene);
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
    await publisher.stop?.({});
    expect(client.isReady).toBe(true);
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
    expect(await scene.ids()).toHaveLength(2);
  });

  test('that reconnects gets nothing, so that nothing arrives after it was given up', async () => {
    const scene = await openRedisScene();
    const { publisher } = await borrowed(scene);
    await publisher.start?.();
    await scene.link.cut();
    await vi.waitUntil(() => !publisher.health?.().isConnected);
    const given = rowOf(scene.stream);
    expect(await failureOf(publisher, given)).toMatchObject(away);
    await scene.link.heal();
    const row = rowOf(scene.stream);
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined, 5_000);
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('takes back what it has not written when the publish is given up', async () => {
    const scene = await openRedisScene();
    const { client } = await borrowed(scene);
    // As if it lost its connection right after it was asked whether it has one.
    const sent = vi.fn();
    const publisher = scene.publisher({ client: alwaysReady(client, sent) });
    await publisher.start?.();
    await scene.link.cut();
    await vi.waitUntil(() => !client.isReady);
    const given = rowOf(scene.stream);
    const giveUp = new AbortController();
    const failing = failureOf(publisher, given, giveUp.signal);
    await vi.waitUntil(() => sent.mock.calls.some(([name]) => name === 'XADD'));
    giveUp.abort(new Error('claim lost'));
    expect(await failing).toEqual(new Error('claim lost'));
    await scene.link.heal();
    await vi.waitUntil(() => client.isReady, 5_000);
    const row = rowOf(scene.stream);
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('takes back what it has not written when Redis is silent for too long', async () => {
    const scene = await openRedisScene();
    const { client } = await borrowed(scene);
    const publisher = scene.publisher({ client: alwaysReady(client), timeoutMs: 200 });
    await publisher.start?.();
    await scene.link.cut();
    await vi.waitUntil(() => !client.isReady);
    expect(await failureOf(publisher, rowOf(scene.stream))).toMatchObject({
      message: 'Redis does not answer',
    });
    await scene.link.heal();
    await vi.waitUntil(() => client.isReady, 5_000);
    const row = rowOf(scene.stream);
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('that is closed is an outage, at the start too', async () => {
    const scene = await openRedisScene();
    const { client, publisher } = await borrowed(scene);
    client.destroy();
    expect(await failureOf(publisher, rowOf(scene.stream))).toMatchObject(away);
    await expect(publisher.start?.()).rejects.toMatchObject(away);
    expect(publisher.health?.()).toEqual({ isConnected: false });
  });

  test('works in an outbox, by its module', async () => {
    const scene = await openRedisScene();
    const { client } = await borrowed(scene);
    const outbox = createOutbox({
      store: memoryStore(),
      modules: [OutboxRedisModule.forRoot({ client })],
      logger: false,
    });
    onTestFinished(() => outbox.stop());
    await outbox.start();
    const [id] = await outbox.enqueue({ topic: scene.stream, payload: 1 });
    await vi.waitUntil(async () => (await scene.ids()).includes(id ?? ''));
    expect((await outbox.health()).publishers).toEqual([{ name: 'redis', isConnected: true }]);
  });
});

function alwaysReady(client: RedisClientLike, sent: (name: unknown) => void = () => {}): RedisClientLike {
  return {
    isReady: true,
    sendCommand: (args, options) => {
      sent(args[0]);
      return client.sendCommand(args, options);
    },
  };
}
