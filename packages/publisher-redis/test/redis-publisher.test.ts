import { randomUUID } from 'node:crypto';
import { errorText } from '@postcommit/core/internal';
import { afterAll, expect, test, vi } from 'vitest';
import { closeRedisServers, PASSWORD, urlOf } from './redis-harness.js';
import { describeOnRedis, failureOf, openRedisScene, resultsOf, rowOf } from './scene.js';

afterAll(closeRedisServers);

const certain = { name: 'UnavailableError', isCertain: true };
const uncertain = { name: 'UnavailableError', isCertain: false };

describeOnRedis('a row that Redis refuses', () => {
  test('because of its type in the middle of a pipeline fails alone, with those behind it of its key', async () => {
    const scene = await openRedisScene();
    const { stream, observer } = scene;
    const text = `${stream}:text`;
    await observer.set(text, 'not a stream');
    const rows = [stream, text, stream, stream, stream].map((topic, index) =>
      rowOf(topic, index === 0 || index === 4 ? {} : { key: index === 3 ? 'other' : 'account-7' }),
    );
    const results = await resultsOf(scene.publisher(), rows);
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
    ]);
    expect(results[1]).toMatchObject({
      reason: { name: 'PermanentError', message: expect.stringContaining(`${text} is not a stream`) },
    });
    expect((await scene.ids()).sort()).toEqual([rows[0]?.id, rows[3]?.id, rows[4]?.id].sort());
    await observer.del(text);
  });

  test('because its memory is full waits, without an attempt', async () => {
    const scene = await openRedisScene({ maxmemory: '1', 'maxmemory-policy': 'noeviction' });
    const error = await failureOf(scene.publisher(), rowOf(scene.stream));
    expect(error).toMatchObject({ ...certain, message: expect.stringContaining('(OOM)') });
  });

  test('because it has no replicas waits, without an attempt', async () => {
    const scene = await openRedisScene({ 'min-replicas-to-write': '1' });
    const error = await failureOf(scene.publisher(), rowOf(scene.stream));
    expect(error).toMatchObject({ ...certain, message: expect.stringContaining('(NOREPLICAS)') });
  });

  test('because it became a replica waits, and the next connection may lead to the master', async () => {
    const scene = await openRedisScene({ 'replica-serve-stale-data': 'yes' });
    const publisher = scene.publisher();
    await publisher.start?.();
    await scene.observer.sendCommand(['REPLICAOF', '127.0.0.1', '1']);
    const row = rowOf(scene.stream);
    expect(await failureOf(publisher, row)).toMatchObject({
      ...certain,
      message: expect.stringContaining('(READONLY)'),
    });
    await vi.waitUntil(() => scene.link.connections === 0);
    await scene.observer.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(scene.link.connections).toBe(1);
  });

  test('because the user may not write to the stream waits, and other streams go on', async () => {
    const scene = await openRedisScene();
    const allowed = ['on', `>${PASSWORD}`, `~${scene.stream}`, '+xadd'];
    await scene.observer.sendCommand(['ACL', 'SETUSER', 'app', ...allowed]);
    const publisher = scene.publisher({ username: 'app', password: PASSWORD });
    expect(await failureOf(publisher, rowOf('others'))).toMatchObject({
      ...certain,
      message: 'Redis refuses to let this user add to others (NOPERM)',
    });
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
  });
});

describeOnRedis('a stream that does not exist', () => {
  test('is created by default', async () => {
    const scene = await openRedisScene();
    const row = rowOf(scene.stream);
    expect(await failureOf(scene.publisher(), row)).toBeUndefined();
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('is not created with streamMustExist', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ streamMustExist: true });
    expect(await failureOf(publisher, rowOf(scene.stream))).toMatchObject({
      ...certain,
      message: `there is no stream ${scene.stream}`,
    });
    expect(await scene.observer.exists(scene.stream)).toBe(0);
  });
});

describeOnRedis('entries', () => {
  test('are not trimmed by default, and about to maxLength with it', async () => {
    const scene = await openRedisScene();
    const rows = Array.from({ length: 600 }, () => rowOf(scene.stream));
    await resultsOf(scene.publisher(), rows);
    expect(await scene.observer.xLen(scene.stream)).toBe(600);
    await resultsOf(scene.publisher({ maxLength: 100 }), rows);
    const length = await scene.observer.xLen(scene.stream);
    expect(length).toBeGreaterThanOrEqual(100);
    expect(length).toBeLessThan(600);
  });
});

describeOnRedis('the connection', () => {
  test('takes credentials from functions, at each connect', async () => {
    const scene = await openRedisScene();
    const passwords = ['expired', PASSWORD, PASSWORD];
    const password = vi.fn(async () => passwords.shift() ?? '');
    const publisher = scene.publisher({ username: () => 'default', password });
    const refused = await failureOf(publisher, rowOf(scene.stream));
    expect(refused).toMatchObject({ ...certain, message: 'Redis refuses the credentials' });
    expect(errorText(refused)).not.toContain('expired');
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
    expect(await failureOf(publisher, rowOf(scene.stream))).toBeUndefined();
    expect(password).toHaveBeenCalledTimes(2);
    await scene.link.cut();
    await scene.link.heal();
    await vi.waitUntil(async () => (await failureOf(publisher, rowOf(scene.stream))) === undefined);
    expect(password).toHaveBeenCalledTimes(3);
  });

  test('takes credentials and the database from the URL', async () => {
    const scene = await openRedisScene();
    const url = `${urlOf(scene.link).replace('//', `//:${PASSWORD}@`)}/3`;
    const publisher = scene.publisher({ url, password: undefined } as never);
    const row = rowOf(scene.stream);
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(await scene.ids()).toEqual([]);
    await scene.observer.select(3);
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('without a password to a server that wants one is refused at the start', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ password: undefined } as never);
    await expect(publisher.start?.()).rejects.toMatchObject({
      ...certain,
      message: 'Redis refuses the credentials',
    });
  });

  test('shows its name', async () => {
    const scene = await openRedisScene();
    const name = `shop-${randomUUID()}`;
    await scene.publisher({ name }).start?.();
    expect(await scene.observer.sendCommand(['CLIENT', 'LIST'])).toContain(name);
  });

  test('that no longer answers is replaced, and what timed out on it never arrives', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher({ timeoutMs: 300 });
    await publisher.start?.();
    scene.link.freeze();
    const lost = rowOf(scene.stream);
    expect(await failureOf(publisher, lost)).toMatchObject(uncertain);
    await vi.waitUntil(() => !publisher.health?.().isConnected);
    await scene.link.cut();
    await scene.link.heal();
    const row = rowOf(scene.stream);
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(await scene.ids()).toEqual([row.id]);
  });

  test('is not opened again by a publish or a check after stop', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher();
    await publisher.start?.();
    await publisher.stop?.({});
    await expect(publisher.check?.({ redeliveryAfterMs: 1_000 })).rejects.toThrow(
      'the publisher was stopped',
    );
    expect(await failureOf(publisher, rowOf(scene.stream))).toMatchObject({
      message: 'the publisher was stopped',
    });
    await vi.waitUntil(() => scene.link.connections === 0);
  });

  test('a signal that aborts before the answer ends the publish with its reason', async () => {
    const scene = await openRedisScene();
    const publisher = scene.publisher();
    await publisher.start?.();
    scene.link.holdAnswers();
    const giveUp = new AbortController();
    const failing = failureOf(publisher, rowOf(scene.stream), giveUp.signal);
    await vi.waitUntil(async () => (await scene.ids()).length === 1);
    giveUp.abort(new Error('claim lost'));
    expect(await failing).toEqual(new Error('claim lost'));
  });
});
