import { inspect } from 'node:util';
import { createOutbox } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { OutboxBullmqModule } from '../src/index.js';
import { closeRedisServers, PASSWORD } from './bullmq-harness.js';
import { describeOnRedis, failureOf, openBullmqScene, rowOf } from './scene.js';

afterAll(closeRedisServers);

const certain = { name: 'UnavailableError', isCertain: true };
const uncertain = { name: 'UnavailableError', isCertain: false };

describeOnRedis('a job that Redis refuses', () => {
  test('because its memory is full waits, without an attempt, and without its data in the error', async () => {
    const scene = await openBullmqScene({ maxmemory: '1' });
    const error = await failureOf(scene.publisher(), rowOf({ payload: { iban: 'DE0212030000' } }));
    expect(error).toMatchObject({ ...certain, message: expect.stringContaining('(OOM)') });
    expect(inspect(error, { depth: 8 })).not.toContain('DE0212030000');
  });

  test('because it became a replica waits, and the next connection may lead to the master', async () => {
    const scene = await openBullmqScene({ 'replica-serve-stale-data': 'yes' });
    const publisher = scene.publisher();
    await publisher.start?.();
    await scene.observer.sendCommand(['REPLICAOF', '127.0.0.1', '1']);
    expect(await failureOf(publisher, rowOf())).toMatchObject({
      ...certain,
      message: expect.stringContaining('(READONLY)'),
    });
    await vi.waitUntil(() => scene.link.connections === 0);
    await scene.observer.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    expect(await failureOf(publisher, rowOf())).toBeUndefined();
  });

  test('because of its options costs an attempt', async () => {
    const scene = await openBullmqScene();
    const error = await failureOf(scene.publisher({ jobOptions: { priority: 1.5 } }), rowOf());
    expect(error).toMatchObject({
      name: 'TransientError',
      cause: { message: 'Priority should not be float' },
    });
    expect(error).not.toHaveProperty('unavailable');
  });
});

describeOnRedis('the connection', () => {
  test('is asked for at each connect, and refused credentials are not in the error', async () => {
    const scene = await openBullmqScene();
    const passwords = ['expired-4711', PASSWORD, PASSWORD];
    const connection = vi.fn(async () => ({ ...scene.connection, password: passwords.shift() }));
    const publisher = scene.publisher({ connection });
    const refused = await failureOf(publisher, rowOf());
    expect(refused).toMatchObject({ ...certain, message: 'Redis refuses the credentials' });
    expect(inspect(refused, { depth: 8 })).not.toContain('expired-4711');
    expect(await failureOf(publisher, rowOf())).toBeUndefined();
    expect(await failureOf(publisher, rowOf())).toBeUndefined();
    expect(connection).toHaveBeenCalledTimes(2);
    await scene.link.cut();
    await scene.link.heal();
    await vi.waitUntil(async () => (await failureOf(publisher, rowOf())) === undefined);
    expect(connection).toHaveBeenCalledTimes(3);
  });

  test('may be a URL', async () => {
    const scene = await openBullmqScene();
    const url = `redis://:${PASSWORD}@${scene.link.host}:${scene.link.port}/0`;
    expect(await failureOf(scene.publisher({ connection: { url } }), rowOf())).toBeUndefined();
  });

  test('that no longer answers is replaced, and what timed out on it never arrives', async () => {
    const scene = await openBullmqScene();
    const publisher = scene.publisher({ timeoutMs: 300 });
    await publisher.start?.();
    scene.link.freeze();
    expect(await failureOf(publisher, rowOf())).toMatchObject(uncertain);
    await vi.waitUntil(() => !publisher.health?.().isConnected);
    await scene.link.cut();
    await scene.link.heal();
    const row = rowOf();
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect((await scene.jobs()).map(({ id }) => id)).toEqual([row.id]);
  });

  test('keeps nothing for later, whatever its options say', async () => {
    const scene = await openBullmqScene();
    const wishes = { enableOfflineQueue: true, retryStrategy: () => 10, maxRetriesPerRequest: 9 };
    const publisher = scene.publisher({ connection: { ...scene.connection, ...wishes } });
    await publisher.start?.();
    await scene.link.cut();
    const given = rowOf();
    expect(await failureOf(publisher, given)).toMatchObject({ name: 'UnavailableError' });
    await scene.link.heal();
    const row = rowOf();
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined);
    expect((await scene.jobs()).map(({ id }) => id)).toEqual([row.id]);
  });
});

describeOnRedis('a queue of the application', () => {
  test('publishes, and survives a stop', async () => {
    const scene = await openBullmqScene();
    const queue = scene.queue();
    const publisher = scene.publisher({ queue });
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf())).toBeUndefined();
    await publisher.stop?.({});
    expect(await queue.getJobCountByTypes('wait')).toBe(1);
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf())).toBeUndefined();
  });

  test('that reconnects gets nothing, so that nothing arrives after it was given up', async () => {
    const scene = await openBullmqScene();
    const publisher = scene.publisher({ queue: scene.queue() });
    await publisher.start?.();
    await scene.link.cut();
    await vi.waitUntil(() => !publisher.health?.().isConnected);
    expect(await failureOf(publisher, rowOf())).toMatchObject(certain);
    await scene.link.heal();
    const row = rowOf();
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined, 5_000);
    expect((await scene.jobs()).map(({ id }) => id)).toEqual([row.id]);
  });

  test('whose client keeps commands for later is reported by the check', async () => {
    const scene = await openBullmqScene();
    const context = { redeliveryAfterMs: 45_000 };
    const careless = scene.publisher({ queue: scene.queue() });
    expect(await careless.check?.(context)).toMatchObject([
      { level: 'warning', problem: expect.stringContaining('given up meanwhile') },
    ]);
    const options = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false };
    expect(await scene.publisher({ queue: scene.queue(options) }).check?.(context)).toEqual([]);
  });

  test('works in an outbox, by its module', async () => {
    const scene = await openBullmqScene();
    const outbox = createOutbox({
      store: memoryStore(),
      modules: [OutboxBullmqModule.forRoot({ queue: scene.queue() })],
      logger: false,
    });
    onTestFinished(() => outbox.stop());
    await outbox.start();
    const [id] = await outbox.enqueue({ topic: 'order.paid', payload: 1 });
    await vi.waitUntil(async () => (await scene.jobs()).some((job) => job.id === id));
    expect((await outbox.health()).publishers).toEqual([{ name: 'bullmq', isConnected: true }]);
  });
});

describeOnRedis('the check of a server', () => {
  const context = { redeliveryAfterMs: 45_000 };

  test('finds nothing where jobs are written and never deleted', async () => {
    const scene = await openBullmqScene();
    expect(await scene.publisher().check?.(context)).toEqual([]);
  });

  test.each([
    ['maxmemory-policy', 'volatile-lru', 'it deletes jobs'],
    ['appendonly', 'no', 'a crash loses the jobs'],
  ])('warns of %s %s', async (setting, value, problem) => {
    const scene = await openBullmqScene({ [setting]: value });
    expect(await scene.publisher().check?.(context)).toMatchObject([
      { level: 'warning', problem: expect.stringContaining(problem) },
    ]);
  });
});
