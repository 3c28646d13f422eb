import { Worker } from 'bullmq';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { rowIdOf } from '../src/index.js';
import { closeRedisServers } from './bullmq-harness.js';
import { type BullmqScene, describeOnRedis, failureOf, openBullmqScene, rowOf } from './scene.js';

afterAll(closeRedisServers);

/** Completes jobs, and remembers the rows that they were made of. */
async function workOn({ connection, name }: BullmqScene): Promise<string[]> {
  const done: string[] = [];
  const worker = new Worker(name, async ({ id = '' }) => void done.push(rowIdOf(id)), { connection });
  worker.on('error', () => {});
  onTestFinished(() => worker.close(true));
  await worker.waitUntilReady();
  return done;
}

describeOnRedis('a job', () => {
  test('has the topic as its name and the payload as its data, as if it were added by hand', async () => {
    const scene = await openBullmqScene();
    const row = rowOf({ key: 'account-7', payload: { orderId: 7 } });
    expect(await failureOf(scene.publisher(), row)).toBeUndefined();
    expect(await scene.jobs()).toMatchObject([{ id: row.id, name: 'order.paid', data: { orderId: 7 } }]);
  });

  test("has the whole row as its data with data: 'row'", async () => {
    const scene = await openBullmqScene();
    const row = rowOf({ key: 'account-7', headers: { tenant: 'a' } });
    expect(await failureOf(scene.publisher({ data: 'row' }), row)).toBeUndefined();
    const [job] = await scene.jobs();
    expect(job?.data).toEqual({
      id: row.id,
      topic: 'order.paid',
      key: 'account-7',
      payload: { total: 7 },
      headers: {
        tenant: 'a',
        'outbox-id': row.id,
        'outbox-topic': 'order.paid',
        'outbox-key': 'account-7',
        'outbox-created-at': '2026-11-19T10:00:00.000Z',
      },
      createdAt: '2026-11-19T10:00:00.000Z',
    });
  });

  test('has the name and the options that functions return', async () => {
    const scene = await openBullmqScene();
    const publisher = scene.publisher({
      jobName: ({ topic }) => `shop/${topic}`,
      jobOptions: ({ payload }) => ({ attempts: (payload as { total: number }).total, jobId: 'mine' }),
    });
    const row = rowOf();
    expect(await failureOf(publisher, row)).toBeUndefined();
    expect(await scene.jobs()).toMatchObject([
      { id: row.id, name: 'shop/order.paid', options: { attempts: 7 } },
    ]);
  });

  test('has the trace context where the telemetry of BullMQ looks for it', async () => {
    const scene = await openBullmqScene();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await failureOf(scene.publisher(), rowOf({ headers: { traceparent } }));
    const queue = scene.queue();
    const [job] = await queue.getJobs(['wait']);
    expect(JSON.parse(job?.opts.telemetry?.metadata ?? '{}')).toEqual({ traceparent });
  });

  test.each<[string, object]>([
    ['its name', { jobName: () => JSON.parse('{') }],
    ['its options', { jobOptions: () => JSON.parse('{') }],
    ['options that are none', { jobOptions: () => 'none' }],
    ['more than its sizeLimit', { jobOptions: { sizeLimit: 3 } }],
  ])('is dead at once because of %s', async (_, options) => {
    const scene = await openBullmqScene();
    expect(await failureOf(scene.publisher(options), rowOf())).toMatchObject({ permanent: true });
    expect(await scene.jobs()).toEqual([]);
  });
});

describeOnRedis('a row that is published again', () => {
  test('is no second job while the first exists, also when that is completed', async () => {
    const scene = await openBullmqScene();
    const done = await workOn(scene);
    const [publisher, row] = [scene.publisher(), rowOf()];
    expect(await failureOf(publisher, row)).toBeUndefined();
    await vi.waitUntil(() => done.length === 1);
    const last = rowOf();
    for (const one of [row, last]) expect(await failureOf(publisher, one)).toBeUndefined();
    await vi.waitUntil(() => done.includes(last.id));
    expect(done).toEqual([row.id, last.id]);
  });

  test('is a second job after the first was removed', async () => {
    const scene = await openBullmqScene();
    const done = await workOn(scene);
    const publisher = scene.publisher({ jobOptions: { removeOnComplete: true } });
    const row = rowOf();
    expect(await failureOf(publisher, row)).toBeUndefined();
    await vi.waitUntil(async () => !(await scene.observer.exists(`bull:${scene.name}:${row.id}`)));
    expect(await failureOf(publisher, row)).toBeUndefined();
    await vi.waitUntil(() => done.length === 2);
    expect(done).toEqual([row.id, row.id]);
  });
});
