import type { EncodedMessage, OutboxPublisher, OutboxRow } from '@postcommit/core';
import { expect, it, onTestFinished } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher } from '../src/index.js';
import { KafkaGate } from './kafka-gate.js';
import { describeOnMock } from './mock-cluster.js';
import { publish, publishAll, reasonOf, rowOf, statusesOf } from './rows.js';
import { SaslGuard } from './sasl-guard.js';

describeOnMock('connections to the mock cluster', 3, (cluster) => {
  const { brokers } = cluster;

  function publisherOf(options: KafkaPublisherOptions): OutboxPublisher {
    const publisher = kafkaPublisher({ timeoutMs: 2_000, ...options });
    onTestFinished(() => publisher.stop?.({ graceMs: 0 }));
    return publisher;
  }

  async function guarded(guard: SaslGuard): Promise<string[]> {
    const gate = await KafkaGate.open(brokers[0], guard);
    onTestFinished(() => gate.close());
    return [`${gate.address.host}:${gate.address.port}`];
  }

  it('asks for the password at each connect, so that it can be rotated', async () => {
    cluster.createTopic('rotated', 1);
    cluster.setLeader('rotated', 0, 1); // only this one is behind the guard
    const passwords = ['first', 'second'];
    const guard = new SaslGuard('second');
    const password = async () => passwords.shift() ?? 'second';
    const sasl = { mechanism: 'PLAIN', username: 'app', password } as const;
    const publisher = publisherOf({ brokers: await guarded(guard), sasl });
    const [refused] = await publish(publisher, [rowOf('rotated')]);
    expect(reasonOf(refused)).toMatchObject({ unavailable: true, isCertain: true });
    expect(passwords).toEqual(['second']);
    await publishAll(publisher, [rowOf('rotated')]);
    expect(guard.logins).toBeGreaterThanOrEqual(2);
  });

  it('a credential that can not be fetched is an outage', async () => {
    const fetchToken = () => Promise.reject(new Error('vault is sealed'));
    const sasl = { mechanism: 'PLAIN', username: 'app', password: fetchToken } as const;
    const publisher = publisherOf({ brokers: await guarded(new SaslGuard('x')), sasl });
    const [result] = await publish(publisher, [rowOf('sealed')]);
    expect(reasonOf(result)).toMatchObject({ unavailable: true });
  });

  it('start says that a cluster is away, and the publisher connects later', async () => {
    const publisher = publisherOf({ brokers });
    for (const broker of [1, 2, 3]) cluster.takeDown(broker);
    await expect(publisher.start?.()).rejects.toMatchObject({ unavailable: true, isCertain: true });
    for (const broker of [1, 2, 3]) cluster.bringUp(broker);
    await publishAll(publisher, [rowOf('later')]);
    expect(publisher.health?.()).toEqual({ isConnected: true });
  });

  it('an encoder that never ends does not hold the batches behind it', async () => {
    const encode = ({ headers }: OutboxRow): Promise<EncodedMessage> | EncodedMessage =>
      headers.hangs ? new Promise(() => {}) : { body: '{}', contentType: 'application/json' };
    const publisher = publisherOf({ brokers, encode, timeoutMs: 300 });
    const [result] = await publish(publisher, [rowOf('encoded', { headers: { hangs: 'yes' } })]);
    expect(reasonOf(result)).toMatchObject({ unavailable: true });
    await publishAll(publisher, [rowOf('encoded')]);
  });

  it('knows when it is not connected any more', async () => {
    const publisher = publisherOf({ brokers });
    await publishAll(publisher, [rowOf('health')]);
    for (const broker of [1, 2, 3]) cluster.takeDown(broker);
    await publish(publisher, [rowOf('health')]);
    expect(publisher.health?.()).toEqual({ isConnected: false });
    for (const broker of [1, 2, 3]) cluster.bringUp(broker);
    await publishAll(publisher, [rowOf('health')]);
    expect(publisher.health?.()).toEqual({ isConnected: true });
  });

  it('finds nothing wrong with a topic of three replicas', async () => {
    cluster.createTopic('sound', 2);
    const publisher = publisherOf({ brokers, topics: ['sound'] });
    await publisher.start?.();
    expect(await publisher.check?.({ redeliveryAfterMs: 1 })).toEqual([]);
  });

  it('requires topics that do not exist', async () => {
    cluster.createTopic('missing', 1);
    cluster.failTopic('missing', 'unknownTopic');
    const publisher = publisherOf({ brokers, topics: ['sound', 'missing'] });
    await publisher.start?.();
    expect(await publisher.check?.({ redeliveryAfterMs: 1 })).toMatchObject([
      { level: 'required', problem: expect.stringContaining("'missing' does not exist") },
    ]);
  });

  it('refuses to start if it is to create topics and may not', async () => {
    cluster.createTopic('undeclared', 1);
    cluster.failTopic('undeclared', 'unknownTopic');
    const publisher = publisherOf({ brokers, topics: ['undeclared'], declare: true });
    await expect(publisher.start?.()).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: "Kafka topics can't be created: undeclared",
    });
  });

  it('does not try to create topics that exist', async () => {
    cluster.createTopic('declared', 1);
    const publisher = publisherOf({ brokers, topics: ['declared'], declare: true });
    await publisher.start?.();
    expect(statusesOf(await publish(publisher, [rowOf('declared')]))).toEqual(['stored']);
  });

  it('sends compressed batches', async () => {
    const publisher = publisherOf({ brokers, compression: 'gzip' });
    expect(statusesOf(await publish(publisher, [rowOf('zipped')]))).toEqual(['stored']);
  });
});

describeOnMock('a mock cluster of one broker', 1, ({ brokers }) => {
  it('is warned of: a topic has one replica', async () => {
    const publisher = kafkaPublisher({ brokers, topics: ['single'] });
    onTestFinished(() => publisher.stop?.({ graceMs: 0 }));
    await publisher.start?.();
    expect(await publisher.check?.({ redeliveryAfterMs: 1 })).toMatchObject([
      { level: 'warning', problem: expect.stringContaining("'single' has one replica") },
    ]);
  });
});
