import { createOutbox, type PublisherProblem } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { RedisPublisherOptions } from '../src/index.js';
import { closeRedisServers, PASSWORD } from './redis-harness.js';
import { describeOnRedis, failureOf, openRedisScene, type RedisScene, rowOf } from './scene.js';

afterAll(closeRedisServers);

async function problemsOf(
  scene: RedisScene,
  options: Partial<RedisPublisherOptions> = {},
): Promise<readonly PublisherProblem[]> {
  const publisher = scene.publisher(options);
  await publisher.start?.();
  return (await publisher.check?.({ redeliveryAfterMs: 45_000 })) ?? [];
}

function warning(problem: string): object {
  return { level: 'warning', problem: expect.stringContaining(problem), fix: expect.any(String) };
}

describeOnRedis('the check of a server', () => {
  test('finds nothing where everything is written and nothing is deleted', async () => {
    expect(await problemsOf(await openRedisScene())).toEqual([]);
  });

  test.each([
    ['allkeys-lru', 'deletes whole streams'],
    ['volatile-ttl', 'deletes streams that expire'],
  ])('warns of maxmemory-policy %s', async (policy, problem) => {
    const scene = await openRedisScene({ 'maxmemory-policy': policy });
    expect(await problemsOf(scene)).toMatchObject([warning(problem)]);
  });

  test('warns of appendonly no', async () => {
    const scene = await openRedisScene({ appendonly: 'no' });
    expect(await problemsOf(scene)).toMatchObject([warning('has appendonly no')]);
  });

  test('warns of appendfsync everysec, unless a delivery waits for more', async () => {
    const scene = await openRedisScene({ appendfsync: 'everysec' });
    expect(await problemsOf(scene)).toMatchObject([warning('has appendfsync everysec')]);
    expect(await problemsOf(scene, { durability: { wait: { replicas: 1 } }, timeoutMs: 2_000 })).toEqual([]);
  });

  test('warns of trimming', async () => {
    const scene = await openRedisScene();
    expect(await problemsOf(scene, { maxLength: 1_000 })).toMatchObject([warning('about 1000 messages')]);
  });

  test('warns of a replica', async () => {
    const scene = await openRedisScene({ replicaof: '127.0.0.1 1' });
    expect(await problemsOf(scene)).toMatchObject([warning('is a replica')]);
  });

  test('warns of a node of a cluster', async () => {
    const scene = await openRedisScene({ 'cluster-enabled': 'yes' });
    expect(await problemsOf(scene)).toMatchObject([warning('is a node of a cluster')]);
  });

  test('says what it may not see', async () => {
    const scene = await openRedisScene();
    const rights = ['on', `>${PASSWORD}`, '~*', '+@all', '-config'];
    await scene.observer.sendCommand(['ACL', 'SETUSER', 'blind', ...rights]);
    expect(await problemsOf(scene, { username: 'blind', password: PASSWORD })).toMatchObject([
      warning('does not show maxmemory-policy, appendonly, appendfsync'),
    ]);
  });

  test('needs the rights that the guide names, and no others', async () => {
    const scene = await openRedisScene();
    const rights = ['on', `>${PASSWORD}`, '~orders:*', '+xadd', '+config|get'];
    await scene.observer.sendCommand(['ACL', 'SETUSER', 'shop', ...rights]);
    const options = { username: 'shop', password: PASSWORD };
    expect(await problemsOf(scene, options)).toEqual([]);
    expect(await failureOf(scene.publisher(options), rowOf(scene.stream))).toBeUndefined();
  });

  test('requires a server that has WAITAOF, if that is asked for', async ({ skip }) => {
    const scene = await openRedisScene();
    const [known] = await scene.observer.sendCommand<unknown[]>(['COMMAND', 'INFO', 'WAITAOF']);
    skip(known !== null, 'this Redis has WAITAOF');
    const options = { durability: { waitAof: {} }, timeoutMs: 2_000 };
    expect(await problemsOf(scene, options)).toMatchObject([
      { level: 'required', problem: 'the Redis server has no WAITAOF' },
    ]);
    const publisher = scene.publisher(options);
    const outbox = createOutbox({ store: memoryStore(), publisher, logger: false });
    onTestFinished(() => outbox.stop());
    await expect(outbox.start()).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
  });

  test('an outage in the middle is said as one', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ timeoutMs: 200 });
    await publisher.start?.();
    scene.link.freeze();
    await expect(publisher.check?.({ redeliveryAfterMs: 1_000 })).rejects.toMatchObject({
      name: 'UnavailableError',
    });
  });
});
