import { connectNats, startNats } from '@internal/test-brokers/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import { createOutbox, type PublisherProblem } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { natsPublisher } from '../src/index.js';
import { settingProblems } from '../src/stream-settings.js';
import { closeNatsServer, PASS } from './nats-harness.js';
import { describeOnNats, failureOf, type NatsScene, openNatsScene, rowOf } from './scene.js';

afterAll(closeNatsServer);

const sound = { discard: 'new', duplicate_window: 600_000_000_000 } as never;
const context = { redeliveryAfterMs: 45_000 };

async function problemsOf(scene: NatsScene, options: object): Promise<readonly PublisherProblem[]> {
  const publisher = scene.publisher(options);
  await publisher.start?.();
  return (await publisher.check?.(context)) ?? [];
}

describeOnNats('the check of a stream', () => {
  test('finds nothing at a sound stream', async () => {
    const scene = await openNatsScene();
    const { stream, subject } = await scene.stream('orders', sound);
    expect(await problemsOf(scene, { stream, subjects: [subject] })).toEqual([]);
  });

  test('requires that the stream exists', async () => {
    const scene = await openNatsScene();
    const stream = `${scene.prefix}-none`;
    expect(await problemsOf(scene, { stream })).toMatchObject([
      { level: 'required', problem: `there is no stream ${stream}` },
    ]);
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: scene.publisher({ stream }),
      logger: false,
    });
    await expect(outbox.start()).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
  });

  test('requires that it takes the subjects', async () => {
    const scene = await openNatsScene();
    const { stream, subject } = await scene.stream('orders', sound);
    const subjects = [subject, `${scene.prefix}.mails.>`];
    expect(await problemsOf(scene, { stream, subjects })).toMatchObject([
      { level: 'required', problem: `stream ${stream} does not take ${scene.prefix}.mails.>` },
    ]);
  });

  test('compares the window with the time after which a row comes again, and a publish', async () => {
    const scene = await openNatsScene();
    for (const [windowMs, count] of [
      [46_000, 0],
      [45_999, 1],
    ] as const) {
      const window = { duplicate_window: windowMs * 1_000_000 };
      const { stream } = await scene.stream(`w${windowMs}`, { ...(sound as object), ...window });
      expect(await problemsOf(scene, { stream }), `${windowMs} ms`).toHaveLength(count);
    }
  });

  test('needs no permission: without it, it says so', async () => {
    const config = `authorization { users = [
      { user: "admin", password: "${PASS}" },
      { user: "app", password: "${PASS}", permissions: { publish: ["orders"] } } ] }`;
    const server = await startNats({ config });
    onTestFinished(() => server.close());
    const admin = await connectNats(server, { user: 'admin', pass: PASS });
    onTestFinished(() => admin.close());
    await (await jetstreamManager(admin)).streams.add({ name: 'ORDERS', subjects: ['orders'] });
    const servers = `${server.host}:${server.port}`;
    const publisher = natsPublisher({ servers, user: 'app', pass: PASS, stream: 'ORDERS' });
    onTestFinished(() => publisher.stop?.({}));
    await publisher.start?.();
    expect(await publisher.check?.(context)).toMatchObject([
      { level: 'warning', fix: 'allow the user to publish to $JS.API.STREAM.INFO.ORDERS' },
    ]);
    expect(await failureOf(publisher, rowOf('orders'))).toBeUndefined();
  });

  test('says that it does not know the stream', async () => {
    const scene = await openNatsScene();
    expect(await problemsOf(scene, {})).toMatchObject([{ level: 'warning', fix: 'pass stream' }]);
  });
});

describe('the settings of a stream', () => {
  const stream = {
    name: 'ORDERS',
    subjects: ['orders.>'],
    storage: 'file',
    discard: 'new',
    retention: 'limits',
    num_replicas: 3,
    duplicate_window: 600_000_000_000,
    max_msgs: 10,
    max_bytes: -1,
    max_msgs_per_subject: -1,
  };
  const expected = { subjects: ['orders.paid'], redeliveryAfterMs: 60_000, isCluster: true };

  test('that are sound have no problem', () => {
    expect(settingProblems(stream as never, expected)).toEqual([]);
    expect(
      settingProblems({ ...stream, num_replicas: 1 } as never, { ...expected, isCluster: false }),
    ).toEqual([]);
    const unlimited = { ...stream, discard: 'old', max_msgs: -1 };
    expect(settingProblems(unlimited as never, expected)).toEqual([]);
    const perSubject = { ...stream, max_msgs_per_subject: 1, discard_new_per_subject: true };
    expect(settingProblems(perSubject as never, expected)).toEqual([]);
  });

  test.each<[string, PublisherProblem['level'], object]>([
    ['does not confirm messages', 'required', { no_ack: true }],
    ['is sealed', 'required', { sealed: true }],
    ['does not take orders.paid', 'required', { subjects: undefined }],
    ['is kept in memory', 'warning', { storage: 'memory' }],
    ['has 1 replica(s)', 'warning', { num_replicas: 1 }],
    ['deletes its oldest messages', 'warning', { discard: 'old' }],
    ['deletes its oldest messages', 'warning', { discard: 'old', max_msgs: -1, max_bytes: 1 }],
    ['keeps only 5 message(s) of each subject', 'warning', { max_msgs_per_subject: 5 }],
    ['deletes messages at once while it has no consumer', 'warning', { retention: 'interest' }],
    ['forgets ids after 59999 ms', 'warning', { duplicate_window: 59_999_000_000 }],
  ])('stream ORDERS %s: %s', (problem, level, settings) => {
    const problems = settingProblems({ ...stream, ...settings } as never, expected);
    expect(problems).toEqual([
      {
        level,
        problem: expect.stringContaining(`stream ORDERS ${problem}`),
        fix: expect.stringMatching(/.{10}/),
      },
    ]);
  });
});

describeOnNats('declare', () => {
  test('creates the stream with settings that pass the check', async () => {
    const scene = await openNatsScene();
    const [stream, subjects] = [`${scene.prefix}-new`, [`${scene.prefix}.new.>`]];
    const options = { stream, subjects, declare: true };
    const both = await Promise.all([problemsOf(scene, options), problemsOf(scene, options)]);
    expect(both).toEqual([[], []]);
    expect(await failureOf(scene.publisher(options), rowOf(`${scene.prefix}.new.paid`))).toBeUndefined();
    const { config } = await (await scene.observer.manager()).streams.info(stream);
    expect(config).toMatchObject({ storage: 'file', discard: 'new', num_replicas: 1, subjects });
  });

  test('by several processes at a time, with different settings, succeeds in all', async () => {
    const scene = await openNatsScene();
    const [stream, subjects] = [`${scene.prefix}-new`, [`${scene.prefix}.new`]];
    const publishers = Array.from({ length: 8 }, (_, index) =>
      scene.publisher({ stream, subjects, declare: { duplicateWindowMs: 60_000 + index } }),
    );
    await Promise.all(publishers.map((publisher) => publisher.start?.()));
  });

  test('does so before the first row if the server was away at the start', async () => {
    const scene = await openNatsScene();
    const [stream, subject] = [`${scene.prefix}-new`, `${scene.prefix}.new`];
    const publisher = scene.publisher({
      stream,
      subjects: [subject],
      declare: { duplicateWindowMs: 60_000, replicas: 1 },
    });
    await scene.link.cut();
    await expect(publisher.start?.()).rejects.toMatchObject({ name: 'UnavailableError' });
    await scene.link.heal();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    const { config } = await (await scene.observer.manager()).streams.info(stream);
    expect(config.duplicate_window).toBe(60_000_000_000);
  });

  test('leaves a stream that exists as it is', async () => {
    const scene = await openNatsScene();
    const { stream, subject } = await scene.stream('orders', {
      storage: 'memory' as never,
      ...(sound as object),
    });
    const problems = await problemsOf(scene, {
      stream,
      subjects: [subject, `${subject}.more`],
      declare: true,
    });
    expect(problems.map(({ level }) => level)).toEqual(['required', 'warning']);
  });

  test('that the server refuses after an outage makes rows wait: they are not to blame', async () => {
    const scene = await openNatsScene();
    const { subject } = await scene.stream('orders');
    const stream = `${scene.prefix}-new`;
    const publisher = scene.publisher({ stream, subjects: [subject], declare: true });
    expect(await failureOf(publisher, rowOf(subject))).toMatchObject({
      name: 'UnavailableError',
      isCertain: true,
      message: expect.stringContaining(`stream ${stream} could not be created`),
    });
  });

  test('that the server refuses fails the start', async () => {
    const scene = await openNatsScene();
    const { subject } = await scene.stream('orders');
    const options = { stream: `${scene.prefix}-new`, declare: true };
    for (const [subjects, declare] of [
      [[subject], true],
      [[`${scene.prefix}.new`], { replicas: 3 }],
    ] as const) {
      const publisher = scene.publisher({ ...options, subjects, declare });
      await expect(publisher.start?.()).rejects.toMatchObject({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining(`stream ${options.stream} could not be created`),
      });
    }
  });
});

describeOnNats('a server that was away at the start', () => {
  test('is checked when its first row gets through', async () => {
    const scene = await openNatsScene();
    const { stream, subject } = await scene.stream('orders', {
      ...(sound as object),
      storage: 'memory' as never,
    });
    const publisher = scene.publisher({ stream });
    const outbox = createOutbox({ store: memoryStore(), publisher, logger: false });
    onTestFinished(() => outbox.stop());
    const problems = vi.fn();
    outbox.on('publisherProblem', problems);
    await scene.link.cut();
    await outbox.start();
    expect(problems).toHaveBeenCalledOnce();
    await scene.link.heal();
    await outbox.enqueue({ topic: subject, payload: 1 });
    await vi.waitUntil(() => problems.mock.calls.length === 2, 5_000);
    expect(problems).toHaveBeenLastCalledWith(
      expect.objectContaining({ publisher: 'nats', problem: expect.stringContaining('is kept in memory') }),
    );
  });
});
