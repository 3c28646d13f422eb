import { randomUUID } from 'node:crypto';
import { KafkaLog } from '@internal/test-brokers/kafka';
import { Admin } from '@platformatic/kafka';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher } from '../src/index.js';
import { idsOf, publish, publishAll, rowsOf, statusesOf } from './rows.js';

/** `host:port`, separated by commas. */
const { KAFKA_BROKERS = '' } = process.env;
const brokers = KAFKA_BROKERS.split(',').filter(Boolean);

describe('a real cluster (KAFKA_BROKERS)', () => {
  beforeEach(({ skip }) => skip(brokers.length === 0, 'KAFKA_BROKERS is not set'));

  async function setUp(configs: Record<string, string>, options: Partial<KafkaPublisherOptions> = {}) {
    const topic = `postcommit-${randomUUID()}`;
    const declare = { partitions: 3, configs };
    const publisher = kafkaPublisher({ brokers, topics: [topic], declare, ...options });
    onTestFinished(async () => {
      await publisher.stop?.({});
      const admin = new Admin({ clientId: 'test', bootstrapBrokers: brokers });
      await admin.deleteTopics({ topics: [topic] });
      await admin.close();
    });
    await publisher.start?.();
    const log = await KafkaLog.open(brokers, topic);
    onTestFinished(() => log.close());
    return {
      topic,
      publisher,
      ids: async () => (await log.read()).map(({ headers }) => headers['outbox-id']),
    };
  }

  it('creates the topic and stores every row', async () => {
    const { topic, publisher, ids } = await setUp({});
    const rows = rowsOf(topic, 500, (index) => ({ key: `key-${index % 9}` }));
    await publishAll(publisher, rows);
    expect([...new Set(await ids())].sort()).toEqual(idsOf(rows).sort());
  });

  it('refuses only the row that is larger than the topic takes', async () => {
    const { topic, publisher, ids } = await setUp({ 'max.message.bytes': '20000' });
    const rows = rowsOf(topic, 30, (index) => ({
      key: `${index}`,
      payload: 'x'.repeat(index === 7 ? 30_000 : 3_000),
    }));
    const results = statusesOf(await publish(publisher, rows));
    expect(results.filter((status) => status !== 'stored')).toEqual(['PermanentError']);
    expect(results[7]).toBe('PermanentError');
    expect([...new Set(await ids())].sort()).toEqual(idsOf(rows.filter((_, index) => index !== 7)).sort());
  });

  it('warns of one replica in sync', async () => {
    const { publisher } = await setUp({ 'min.insync.replicas': '1' });
    const problems = (await publisher.check?.({ redeliveryAfterMs: 1 })) ?? [];
    expect(problems.map(({ problem }) => problem).join()).toContain('min.insync.replicas');
  });

  it('delivers each of many concurrent rows once when it is idempotent', async () => {
    const { topic, publisher, ids } = await setUp({}, { idempotent: true });
    const rows = rowsOf(topic, 50);
    await Promise.all(rows.map((row) => publishAll(publisher, [row])));
    expect((await ids()).sort()).toEqual(idsOf(rows).sort());
  });
});
