import { startRedis } from '@internal/test-brokers/redis';
import { createClient } from '@redis/client';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RedisClientLike, RedisDurability } from '../src/index.js';
import { closeRedisServers, PASSWORD, redisServer } from './redis-harness.js';
import { describeOnRedis, failureOf, openRedisScene, type RedisScene, resultsOf, rowOf } from './scene.js';

afterAll(closeRedisServers);

const certain = { name: 'UnavailableError', isCertain: true };
const onDisk = { durability: { waitAof: {} }, timeoutMs: 2_000 };
const replicated: RedisDurability = { wait: { replicas: 1, timeoutMs: 200 } };

describeOnRedis('WAIT', () => {
  test('that finds no replica in time is not a delivery, although it does not fail', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ durability: replicated });
    const rows = [rowOf(scene.stream), rowOf(scene.stream)];
    for (const result of await resultsOf(publisher, rows))
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { ...certain, message: 'only 0 of 1 replicas received the message in 200 ms' },
      });
    expect(await scene.ids()).toEqual(rows.map(({ id }) => id));
  });

  test('is a delivery when a replica has the message, and not when that is gone', async () => {
    const scene = await openRedisScene();
    const { port } = await redisServer();
    await scene.observer.configSet('repl-diskless-sync-delay', '0');
    const replica = await startRedis({
      config: { replicaof: `127.0.0.1 ${port}`, masterauth: PASSWORD },
    });
    onTestFinished(() => replica.close());
    const publisher = scene.publisher({ durability: { wait: { replicas: 1, timeoutMs: 800 } } });
    const row = rowOf(scene.stream);
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined, { timeout: 15_000 });
    await replica.kill();
    expect(await failureOf(publisher, row)).toMatchObject(certain);
  });

  test('is sent behind the messages of a wave, once', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ durability: replicated });
    await publisher.start?.();
    const before = await callsOf(scene, 'wait');
    await resultsOf(
      publisher,
      Array.from({ length: 20 }, () => rowOf(scene.stream)),
    );
    expect((await callsOf(scene, 'wait')) - before).toBe(1);
  });
});

async function callsOf({ observer }: RedisScene, command: string): Promise<number> {
  const stats = await observer.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

describeOnRedis('WAITAOF', () => {
  test('on a server that does not have it is not a delivery', async ({ skip }) => {
    const scene = await openRedisScene();
    const known = await scene.observer.sendCommand<unknown[]>(['COMMAND', 'INFO', 'WAITAOF']);
    skip(known[0] !== null, 'this Redis has WAITAOF');
    const error = await failureOf(scene.publisher(onDisk), rowOf(scene.stream));
    expect(error).toMatchObject({
      ...certain,
      message: 'Redis refuses WAITAOF, which durability needs (ERR)',
    });
    expect(String((error as Error).cause)).not.toContain('args');
  });

  test('on a server that has it: what was confirmed is on the disk', async ({ skip }) => {
    const scene = await openRedisScene();
    const [known] = await scene.observer.sendCommand<unknown[]>(['COMMAND', 'INFO', 'WAITAOF']);
    skip(known === null, 'this Redis has no WAITAOF: it needs 7.2');
    const publisher = scene.publisher(onDisk);
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
  });

  const late = { ...certain, message: 'the server did not write the message to its disk in 1000 ms' };
  const few = { ...certain, message: 'only 1 of 2 replicas wrote the message to their disk in 1000 ms' };

  test.each<[string, unknown, number | undefined, object | undefined]>([
    ['the server has written it', [1, 0], undefined, undefined],
    ['the server has not', [0, 0], undefined, late],
    ['the answer is another one', 'OK', undefined, late],
    ['enough replicas have', [1, 2], 2, undefined],
    ['too few replicas have', [1, 1], 2, few],
  ])('as an answer, replayed: %s', async (_, answer, replicas, expected) => {
    const scene = await openRedisScene();
    const client = await answering(scene, 'WAITAOF', answer);
    const waitAof = replicas === undefined ? {} : { replicas };
    const publisher = scene.publisher({ client, durability: { waitAof }, timeoutMs: 2_000 });
    const error = await failureOf(publisher, rowOf(scene.stream));
    if (expected) expect(error).toMatchObject(expected);
    else expect(error).toBeUndefined();
  });
});

describe('idempotent XADD', () => {
  describeOnRedis('on this server', () => {
    test('drops a row that it got before', async ({ skip }) => {
      const scene = await openRedisScene();
      const version = /redis_version:(\d+\.\d+)/.exec(await scene.observer.info('server'))?.[1] ?? '0';
      skip(Number(version) < 8.6, `Redis ${version} has no IDMP: it needs 8.6`);
      const row = rowOf(scene.stream);
      const publisher = scene.publisher();
      for (let attempt = 0; attempt < 2; attempt++) expect(await failureOf(publisher, row)).toBeUndefined();
      expect(await scene.ids()).toEqual([row.id]);
    });

    test.each([
      ['8.6.0', undefined, true],
      ['8.10.1', undefined, true],
      ['8.4.9', undefined, false],
      ['8.6.0', false, false],
    ])('is used on Redis %s with idempotent: %s: %s', async (version, idempotent, isUsed) => {
      const scene = await openRedisScene();
      const sent: string[][] = [];
      const client = await answering(scene, 'HELLO', ['server', 'redis', 'version', version], sent);
      const options = idempotent === undefined ? {} : { idempotent };
      const row = rowOf(scene.stream);
      await failureOf(scene.publisher({ client, ...options }), row);
      const [add = []] = sent.filter(([name]) => name === 'XADD');
      expect(add.slice(2, 5)).toEqual(isUsed ? ['IDMP', 'postcommit', row.id] : ['*', 'id', row.id]);
    });

    test('is not used on another product, whatever its version', async () => {
      const scene = await openRedisScene();
      const client = await answering(scene, 'HELLO', { server: 'valkey', version: '9.0.0' });
      expect(await failureOf(scene.publisher({ client }), rowOf(scene.stream))).toBeUndefined();
    });
  });
});

/** A client on the real server that answers one command itself: newer servers than this one. */
async function answering(
  { link }: RedisScene,
  command: string,
  answer: unknown,
  sent: string[][] = [],
): Promise<RedisClientLike> {
  const { host, port } = link;
  const client = createClient({ socket: { host, port }, password: PASSWORD });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return {
    isReady: true,
    sendCommand: async (args, options) => {
      sent.push(args.map(String));
      return args[0] === command ? answer : (client as RedisClientLike).sendCommand(args, options);
    },
  };
}
