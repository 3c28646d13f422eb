import { connect, type NatsConnection } from '@nats-io/transport-node';
import { createOutbox, type OutboxPublisher } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { OutboxNatsModule } from '../src/index.js';
import { closeNatsServer, PASS, USER } from './nats-harness.js';
import { describeOnNats, failureOf, type NatsScene, openNatsScene, rowOf } from './scene.js';

afterAll(closeNatsServer);

async function borrowed(
  scene: NatsScene,
): Promise<{ readonly connection: NatsConnection; readonly publisher: OutboxPublisher }> {
  const connection = await connect({
    servers: `${scene.link.host}:${scene.link.port}`,
    user: USER,
    pass: PASS,
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
  });
  onTestFinished(() => connection.close());
  return { connection, publisher: scene.publisher({ connection }) };
}

const away = { name: 'UnavailableError', isCertain: true };

describeOnNats('a connection of the application', () => {
  test('publishes, and survives a stop', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const { connection, publisher } = await borrowed(scene);
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    await publisher.stop?.({});
    expect(connection.isClosed()).toBe(false);
    await publisher.start?.();
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    expect(await reader.read()).toHaveLength(2);
  });

  test('that reconnects gets nothing, so that nothing arrives after it was given up', async () => {
    const scene = await openNatsScene();
    const { subject, reader } = await scene.stream('orders');
    const { publisher } = await borrowed(scene);
    expect(await failureOf(publisher, rowOf(subject))).toBeUndefined();
    await scene.link.cut();
    await vi.waitUntil(() => !publisher.health?.().isConnected);
    const given = rowOf(subject);
    expect(await failureOf(publisher, given)).toMatchObject(away);
    // The client dials and waits for the server: what it is given now would be sent as soon as that answers.
    scene.link.freeze();
    await scene.link.heal().then(() => scene.link.freeze());
    await vi.waitUntil(() => scene.link.connections > 0);
    expect(await failureOf(publisher, given)).toMatchObject(away);
    await scene.link.heal();
    const row = rowOf(subject);
    await vi.waitUntil(async () => (await failureOf(publisher, row)) === undefined, 5_000);
    expect((await reader.read()).map(({ id }) => id)).not.toContain(given.id);
  });

  test('that is closed is an outage, at the start too', async () => {
    const scene = await openNatsScene();
    const { connection, publisher } = await borrowed(scene);
    await connection.close();
    expect(await failureOf(publisher, rowOf('orders'))).toMatchObject(away);
    await expect(publisher.start?.()).rejects.toMatchObject(away);
    expect(publisher.health?.()).toEqual({ isConnected: false });
  });

  test('works in an outbox, by its module', async () => {
    const scene = await openNatsScene();
    const { stream, subject, reader } = await scene.stream('orders');
    const { connection } = await borrowed(scene);
    const outbox = createOutbox({
      store: memoryStore(),
      modules: [OutboxNatsModule.forRoot({ connection, stream, subjects: [subject] })],
      logger: false,
    });
    onTestFinished(() => outbox.stop());
    await outbox.start();
    const [id] = await outbox.enqueue({ topic: subject, payload: 1 });
    await vi.waitUntil(async () => (await reader.read()).some((message) => message.id === id));
    expect((await outbox.health()).publishers).toEqual([{ name: 'nats', isConnected: true }]);
  });
});
