import { composeModules, OutboxModule, OutboxPublisher } from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { describe, expect, it } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher, OutboxKafkaModule } from '../src/index.js';
import { rowOf } from './rows.js';

const brokers = ['localhost:9092'];
const producer = { send() {}, metadata() {}, clearMetadata() {} };

/** Options that JavaScript lets through. */
const INVALID: Readonly<Record<string, [unknown, RegExp]>> = {
  'an unknown option': [{ brokers, acks: 1 }, /acks/],
  'no brokers': [{}, /brokers must be a list/],
  'an empty list of brokers': [{ brokers: [] }, /brokers must be a list/],
  'a broker that is no text': [{ brokers: [9092] }, /brokers must be a list/],
  'brokers as one text': [{ brokers: 'localhost:9092' }, /brokers must be a list/],
  'a clientId with spaces': [{ brokers, clientId: 'my app' }, /clientId/],
  'a topic that is no function': [{ brokers, topic: 'orders' }, /topic must be a function/],
  'a topic that Kafka does not allow': [{ brokers, topics: ['two words'] }, /topics must be a list/],
  'declare without topics': [{ brokers, declare: true }, /declare needs topics/],
  'an unknown option of declare': [{ brokers, topics: ['a'], declare: { replica: 3 } }, /replica/],
  'too many retries': [{ brokers, retries: 3 }, /retries must be 0, 1 or 2/],
  'endless retries': [{ brokers, retries: Number.POSITIVE_INFINITY }, /retries must be 0, 1 or 2/],
  'a time-out of 0': [{ brokers, timeoutMs: 0 }, /timeoutMs must be at least 1/],
  'a batch of no bytes': [{ brokers, maxBatchBytes: 0 }, /maxBatchBytes must be a whole number/],
  'an unknown compression': [{ brokers, compression: 'rar' }, /compression must be one of/],
  'an unknown mechanism': [{ brokers, sasl: { mechanism: 'MAGIC' } }, /sasl.mechanism must be one of/],
  'an unknown option of sasl': [{ brokers, sasl: { mechanism: 'PLAIN', user: 'a' } }, /user/],
  'cloudEvents without a source': [{ brokers, cloudEvents: {} }, /cloudEvents.source/],
  'brokers beside a producer': [{ producer, brokers }, /brokers can't be set for a producer of yours/],
  'a login beside a producer': [{ producer, sasl: { mechanism: 'PLAIN' } }, /sasl can't be set/],
  'declare beside a producer': [{ producer, topics: ['a'], declare: true }, /declare needs brokers/],
  'a producer that is none': [{ producer: {} }, /producer must be a Producer/],
};

describe('kafkaPublisher', () => {
  it.each(Object.entries(INVALID))('refuses %s', (_, [options, message]) => {
    const create = () => kafkaPublisher(options as KafkaPublisherOptions);
    expect(create).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(message) }),
    );
  });

  it('does not repeat a secret of the options', () => {
    const sasl = { mechanism: 'PLAIN', password: 'correct-horse', passwort: 'correct-horse' };
    const create = () => kafkaPublisher({ brokers, sasl } as unknown as KafkaPublisherOptions);
    expect(create).toThrow(/^(?!.*correct-horse)/);
  });

  it('takes undefined for an option as if it was not there', () => {
    const options = { brokers, topic: undefined, retries: undefined, sasl: undefined, producer: undefined };
    expect(() => kafkaPublisher(options as unknown as KafkaPublisherOptions)).not.toThrow();
  });

  it('is called kafka, and is not connected before it starts', () => {
    const publisher = kafkaPublisher({ brokers });
    expect(publisher.name).toBe('kafka');
    expect(publisher.health?.()).toEqual({ isConnected: false });
  });

  it('refuses rows whose topic Kafka does not allow, without connecting', async () => {
    const publisher = kafkaPublisher({ brokers: ['192.0.2.1:9092'] });
    const { signal } = new AbortController();
    for (const topic of ['', '.', '..', 'a b', 'a/b', 'ü', 'a'.repeat(250)]) {
      const publishing = publisher.publish(rowOf(topic), { signal, attempt: 1 });
      await expect(publishing, topic).rejects.toMatchObject({ permanent: true });
    }
  });
});

describe('the option topic', () => {
  it('fails only the row that it throws for, for good', async () => {
    const topic = () => {
      throw new RangeError('no such tenant');
    };
    const publisher = kafkaPublisher({ brokers: ['192.0.2.1:9092'], topic });
    const { signal } = new AbortController();
    const publishing = publisher.publish(rowOf('orders'), { signal, attempt: 1 });
    await expect(publishing).rejects.toMatchObject({ permanent: true, cause: expect.any(RangeError) });
  });
});

describe('OutboxKafkaModule', () => {
  it('binds the publisher', () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule, OutboxKafkaModule.forRoot({ brokers })]);
    expect(app.get(OutboxPublisher).name).toBe('kafka');
  });

  it('refuses invalid options where they are written', () => {
    expect(() => OutboxKafkaModule.forRoot({})).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }));
  });
});
