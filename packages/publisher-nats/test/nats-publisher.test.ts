import { connectNats, startNats } from '@internal/test-brokers/nats';
import { jetstreamManager } from '@nats-io/jetstream';
import { nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { errorText } from '@postcommit/core/internal';
import { openLink } from '@postcommit/publisher-testkit';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { natsPublisher } from '../src/index.js';
import { closeNatsServer, PASS, USER } from './nats-harness.js';
import { describeOnNats, failureOf, openNatsScene, rowOf } from './scene.js';

afterAll(closeNatsServer);

const certain = { name: 'UnavailableError', isCertain: true };
const uncertain = { name: 'UnavailableError', isCertain: false };

describeOnNats('an error of a publish', () => {
  test('no stream for the subject: away, and certain, with the subject', async () => {
    const { publisher, prefix } = await openNatsScene();
    const error = await failureOf(publisher(), rowOf(`${prefix}.nowhere`));
    expect(error).toMatchObject({ ...certain, message: expect.stringContaining(`${prefix}.nowhere`) });
  });

  test('the subject of another stream: away, and certain; nothing is stored', async () => {
    const scene = await openNatsScene();
    const orders = await scene.stream('orders');
    const other = await scene.stream('other');
    const publisher = scene.publisher({ stream: orders.stream });
    expect(await failureOf(publisher, rowOf(other.subject))).toMatchObject({
      ...certain,
      message: `${other.subject} belongs to another stream than '${orders.stream}'`,
    });
    expect(await other.reader.read()).toEqual([]);
  });

  test('too large for the stream: permanent', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('small', { max_msg_size: 2_000 });
    const error = await failureOf(scene.publisher(), rowOf(subject, { payload: 'x'.repeat(2_000) }));
    expect(error).toMatchObject({ name: 'PermanentError', message: expect.stringContaining('max_msg_size') });
    expect(await reader.read()).toEqual([]);
  });

  test('too large for the server, with its headers: permanent, and the connection survives', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const publisher = scene.publisher();
    const large = rowOf(subject, {
      payload: 'x'.repeat(1_048_576 - 30_000),
      headers: { long: 'h'.repeat(30_000) },
    });
    const results = await publisher.publishBatch?.([rowOf(subject), large, rowOf(subject)], {
      signal: new AbortController().signal,
    });
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { reason: { name: 'PermanentError', message: expect.stringContaining('max_payload') } },
      { status: 'fulfilled' },
    ]);
    expect(scene.link.connections).toBe(1);
    expect(await reader.read()).toHaveLength(2);
  });

  test('a stream that is full: away, until there is room', async () => {
    const scene = await openNatsScene();
    const { subject, stream } = await scene.stream('full', { max_msgs: 1, discard: 'new' as never });
    const publisher = scene.publisher({ stream });
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    const row = rowOf(subject);
    expect(await failureOf(publisher, row)).toMatchObject({
      ...uncertain,
      message: expect.stringContaining('refuses messages (code 10077)'),
    });
    await (await scene.observer.manager()).streams.purge(stream);
    expect(await failureOf(publisher, row)).toBeUndefined();
  });

  test('a server without JetStream: away, and certain', async () => {
    const server = await startNats({ jetstream: false });
    onTestFinished(() => server.close());
    const publisher = natsPublisher({ servers: `${server.host}:${server.port}`, stream: 'ORDERS' });
    onTestFinished(() => publisher.stop?.({}));
    expect(await failureOf(publisher, rowOf('orders'))).toMatchObject(certain);
    await expect(publisher.check?.({ redeliveryAfterMs: 1_000 })).rejects.toMatchObject(certain);
  });

  test('a user who may not publish: away, and certain; other subjects go on', async () => {
    const config = `authorization { users = [
      { user: "app", password: "${PASS}", permissions: { publish: { deny: ["secret.>"] } } } ] }`;
    const server = await startNats({ config });
    onTestFinished(() => server.close());
    const connection = await connectNats(server, { user: USER, pass: PASS });
    onTestFinished(() => connection.close());
    const { streams } = await jetstreamManager(connection);
    await streams.add({ name: 'all', subjects: ['open.>', 'secret.>'] });
    const publisher = natsPublisher({ servers: `${server.host}:${server.port}`, user: USER, pass: PASS });
    onTestFinished(() => publisher.stop?.({}));
    const started = performance.now();
    expect(await failureOf(publisher, rowOf('secret.orders'))).toMatchObject({
      ...certain,
      message: 'NATS refuses to let this user publish to secret.orders',
    });
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(await failureOf(publisher, rowOf('open.orders'))).toBeUndefined();
  });

  test('refused credentials: away, and certain, without the password', async () => {
    const { publisher } = await openNatsScene();
    const wrong = publisher({ pass: 'wrong-pass-815' });
    const error = await failureOf(wrong, rowOf('orders'));
    expect(error).toMatchObject({ ...certain, message: 'NATS refuses the credentials' });
    expect(errorText(error)).not.toContain('815');
    await expect(wrong.start?.()).rejects.toMatchObject(certain);
  });

  test('a signal that aborts while connecting ends the publish, and so does its reason', async () => {
    const { publisher, link } = await openNatsScene();
    link.freeze();
    const giveUp = new AbortController();
    const failing = failureOf(publisher(), rowOf('orders'), giveUp.signal);
    giveUp.abort(new Error('claim lost'));
    expect(await failing).toEqual(new Error('claim lost'));
  });

  test('a signal that aborts before the confirmation does so too', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const publisher = scene.publisher();
    await publisher.start?.();
    scene.link.holdAnswers();
    const giveUp = new AbortController();
    const failing = failureOf(publisher, rowOf(subject), giveUp.signal);
    await vi.waitUntil(async () => (await reader.read()).length === 1);
    giveUp.abort(new Error('claim lost'));
    expect(await failing).toEqual(new Error('claim lost'));
  });
});

describeOnNats('a confirmation', () => {
  test('of someone who answers on the subject does not count', async () => {
    const scene = await openNatsScene();
    const subject = `${scene.prefix}.service`;
    const answers = ['{}', '{"stream":"","seq":1}', '{"stream":7,"seq":1}', 'ok', ''];
    const connection = await scene.observer.connection();
    for (const answer of answers) {
      const subscription = connection.subscribe(subject, {
        callback: (_, message) => void message.respond(answer),
      });
      await connection.flush();
      expect(await failureOf(scene.publisher(), rowOf(subject)), answer).toMatchObject({
        name: 'UnavailableError',
      });
      subscription.unsubscribe();
      await connection.flush();
    }
  });

  test('of another stream than the expected one does not count', async () => {
    const scene = await openNatsScene();
    const subject = `${scene.prefix}.service`;
    const connection = await scene.observer.connection();
    connection.subscribe(subject, {
      callback: (_, message) => void message.respond('{"stream":"other","seq":1}'),
    });
    await connection.flush();
    const error = await failureOf(scene.publisher({ stream: 'orders' }), rowOf(subject));
    expect(error).toMatchObject({ message: `${subject} was answered, but not by the stream` });
  });

  test('of a duplicate counts: the row is in the stream', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const row = rowOf(subject);
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await failureOf(scene.publisher(), row)).toBeUndefined();
    expect((await reader.read()).map(({ nativeId }) => nativeId)).toEqual([row.id]);
  });

  test('never comes from a subscriber without a stream', async () => {
    const scene = await openNatsScene();
    const subject = `${scene.prefix}.events`;
    const connection = await scene.observer.connection();
    const received = vi.fn();
    connection.subscribe(subject, { callback: received });
    await connection.flush();
    expect(await failureOf(scene.publisher(), rowOf(subject))).toMatchObject(uncertain);
    expect(received).toHaveBeenCalledOnce();
  });
});

describeOnNats('the connection', () => {
  test('takes credentials from functions, at each connect', async () => {
    const scene = await openNatsScene();
    const { subject } = await scene.stream('orders');
    const passwords = ['expired', PASS, PASS];
    const user = vi.fn(() => USER);
    const pass = vi.fn(async () => passwords.shift() ?? '');
    const publisher = scene.publisher({ user, pass });
    expect(await failureOf(publisher, rowOf(subject))).toMatchObject(certain);
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    expect(pass).toHaveBeenCalledTimes(2);
    await scene.link.cut();
    await scene.link.heal();
    await vi.waitUntil(async () => (await failureOf(publisher, rowOf(subject))) === undefined);
    expect(pass).toHaveBeenCalledTimes(3);
    expect(user).toHaveBeenCalledTimes(3);
  });

  test('a function that fails is an outage', async () => {
    const { publisher } = await openNatsScene();
    const failing = publisher({ pass: () => Promise.reject(new Error('the vault is sealed')) });
    const error = await failureOf(failing, rowOf('orders'));
    expect(error).toMatchObject({ name: 'UnavailableError', cause: { message: 'the vault is sealed' } });
  });

  test('takes a token', async () => {
    const server = await startNats({ config: `authorization { token: "${PASS}" }` });
    onTestFinished(() => server.close());
    const servers = [`nats://${server.host}:${server.port}`];
    const good = natsPublisher({ servers, token: () => PASS });
    const bad = natsPublisher({ servers, token: 'other' });
    await good.start?.();
    expect(good.health?.()).toEqual({ isConnected: true });
    await expect(bad.start?.()).rejects.toMatchObject(certain);
    await good.stop?.({});
    expect(good.health?.()).toEqual({ isConnected: false });
  });

  test('takes an authenticator of the client', async () => {
    const user = nkeys.createUser();
    const config = `authorization { users = [ { nkey: "${user.getPublicKey()}" } ] }`;
    const server = await startNats({ config });
    onTestFinished(() => server.close());
    const servers = `${server.host}:${server.port}`;
    const good = natsPublisher({ servers, authenticator: nkeyAuthenticator(user.getSeed()) });
    await good.start?.();
    await good.stop?.({});
    const other = natsPublisher({
      servers,
      authenticator: nkeyAuthenticator(nkeys.createUser().getSeed()),
    });
    await expect(other.start?.()).rejects.toMatchObject(certain);
  });

  test('with an option that the client refuses fails the start', async () => {
    const { publisher } = await openNatsScene();
    await expect(publisher({ inboxPrefix: '>' }).start?.()).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
  });

  test('with creds that are none is an outage that does not quote them', async () => {
    const { link } = await openNatsScene();
    const creds = async (): Promise<string> => 'not-a-creds-file-4711';
    const failing = natsPublisher({ servers: `${link.host}:${link.port}`, creds });
    const error = await failureOf(failing, rowOf('orders'));
    expect(error).toMatchObject(certain);
    expect(errorText(error)).not.toContain('4711');
  });

  test('goes on with the next server', async () => {
    const scene = await openNatsScene();
    const { subject } = await scene.stream('orders');
    const second = await openLink({ host: scene.link.host, port: scene.link.port });
    onTestFinished(() => second.close());
    await second.cut();
    const servers = [`${second.host}:${second.port}`, `${scene.link.host}:${scene.link.port}`];
    for (let attempt = 0; attempt < 4; attempt++)
      expect(await failureOf(scene.publisher({ servers }), rowOf(subject))).toBeUndefined();
  });

  test('that no longer answers is replaced, and what timed out on it never arrives', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const publisher = scene.publisher();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    scene.link.freeze();
    const lost = rowOf(subject);
    expect(await failureOf(publisher, lost)).toMatchObject(uncertain);
    await vi.waitUntil(() => !publisher.health?.().isConnected, 5_000);
    await scene.link.cut();
    await scene.link.heal();
    const row = rowOf(subject);
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined, 5_000);
    expect((await reader.read()).slice(1).map(({ id }) => id)).toEqual([row.id]);
  });

  test('is kept while the server answers pings, although nobody confirms', async () => {
    const scene = await openNatsScene();
    const subject = `${scene.prefix}.events`;
    const connection = await scene.observer.connection();
    connection.subscribe(subject, { callback: () => {} });
    await connection.flush();
    const publisher = scene.publisher({ timeoutMs: 100 });
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(subject))).toMatchObject(uncertain);
    await connection.flush();
    expect(publisher.health?.()).toEqual({ isConnected: true });
  });

  test('is not opened again by a publish or a check after stop', async () => {
    const scene = await openNatsScene();
    const { stream, subject } = await scene.stream('orders');
    const publisher = scene.publisher({ stream });
    await publisher.start?.();
    await publisher.stop?.({});
    await expect(publisher.check?.({ redeliveryAfterMs: 1_000 })).rejects.toThrow(
      'the publisher was stopped',
    );
    expect(await failureOf(publisher, rowOf(subject))).toMatchObject({
      message: 'the publisher was stopped',
    });
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
  });
});
