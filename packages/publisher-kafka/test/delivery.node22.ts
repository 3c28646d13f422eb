import { randomBytes } from 'node:crypto';
import { javaPartition, KafkaLog, type LoggedRecord } from '@internal/test-brokers/kafka';
import { compatibilityPartitioner } from '@platformatic/kafka';
import { expect, it, onTestFinished } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher } from '../src/index.js';
import { murmur2 } from '../src/murmur2.js';
import { acksOf, PRODUCE } from './kafka-frames.js';
import { KafkaGate } from './kafka-gate.js';
import { describeOnMock } from './mock-cluster.js';
import { idsOf, publish, reasonOf, rowOf, rowsOf, statusesOf } from './rows.js';

describeOnMock('delivery on the mock cluster', 1, (cluster) => {
  /** A publisher whose requests are read on their way. */
  async function setUp(topics: Record<string, number>, options: Partial<KafkaPublisherOptions> = {}) {
    for (const [topic, partitions] of Object.entries(topics)) cluster.createTopic(topic, partitions);
    const gate = await KafkaGate.open(cluster.brokers[0]);
    const log = await KafkaLog.open(cluster.brokers, ...Object.keys(topics));
    const { host, port } = gate.address;
    const publisher = kafkaPublisher({ brokers: [`${host}:${port}`], timeoutMs: 5_000, ...options });
    onTestFinished(async () => {
      await publisher.stop?.({ graceMs: 0 });
      await log.close();
      await gate.close();
    });
    const produced = () => gate.requests.filter(({ kind }) => kind === PRODUCE);
    return { publisher, log, produced };
  }

  it('asks every replica in sync to confirm, in every request', async () => {
    const { publisher, produced } = await setUp({ acks: 3 });
    await publish(publisher, rowsOf('acks', 20));
    await publish(publisher, rowsOf('acks', 1));
    expect(produced().map(acksOf)).toEqual([-1, -1]);
  });

  it('sends all rows of a batch with one request, whatever their topics and partitions', async () => {
    const { publisher, produced } = await setUp({ one: 5, two: 5 });
    const rows = rowsOf('one', 100, (index) => ({ topic: index % 2 === 0 ? 'one' : 'two' }));
    expect(new Set(statusesOf(await publish(publisher, rows)))).toEqual(new Set(['stored']));
    expect(produced()).toHaveLength(1);
  });

  it('has one produce request in flight', async () => {
    const { publisher, produced } = await setUp({ flight: 3 });
    await publish(publisher, rowsOf('flight', 1));
    cluster.delayNext(1, 'produce', 300);
    const publishing = [1, 2, 3].map(() => publish(publisher, rowsOf('flight', 2)));
    await expect.poll(() => produced().length).toBe(2);
    // The answer takes 300 ms, and until then nothing else is sent.
    const first = await Promise.race(publishing);
    expect(statusesOf(first)).toEqual(['stored', 'stored']);
    await Promise.all(publishing);
    expect(produced()).toHaveLength(4);
  });

  it("chooses the partition of a key as Java's client does", async () => {
    const keys = ['21', 'foobar', 'a-little-bit-long-string', 'Zoë 漢字 😀', '', 'k'.repeat(255)];
    const { publisher, log } = await setUp({ keyed: 7 });
    await publish(
      publisher,
      keys.map((key) => rowOf('keyed', { key })),
    );
    const records = await log.read();
    expect(new Map(records.map(({ key, partition }) => [key, partition]))).toEqual(
      new Map(keys.map((key) => [key, javaPartition(key, 7)])),
    );
  });

  it("computes murmur2 as Java's client does", () => {
    // From UtilsTest.java of Apache Kafka.
    const vectors: Record<string, number> = {
      '21': -973932308,
      foobar: -790332482,
      'a-little-bit-long-string': -985981536,
      'a-little-bit-longer-string': -1486304829,
      lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8: -58897971,
      abc: 479470107,
    };
    for (const [key, hash] of Object.entries(vectors))
      expect(murmur2(Buffer.from(key)), key).toBe(hash & 0x7fffffff);
    for (let length = 0; length < 300; length++) {
      const key = randomBytes(length).toString('base64');
      expect(murmur2(Buffer.from(key)) % 11, 'as librdkafka').toBe(javaPartition(key, 11));
      const byClient = compatibilityPartitioner({ topic: '' }, Buffer.from(key));
      expect(murmur2(Buffer.from(key)), 'as the client').toBe(byClient);
    }
  });

  it('spreads rows without a key over all partitions, and gives them none', async () => {
    const { publisher, log } = await setUp({ spread: 4 });
    await publish(publisher, rowsOf('spread', 40));
    const records = await log.read();
    const counts = [0, 1, 2, 3].map((one) => records.filter(({ partition }) => partition === one).length);
    expect(counts).toEqual([10, 10, 10, 10]);
    expect(records.every(({ key }) => key === undefined)).toBe(true);
  });

  it('dates records when they are sent: retention must not delete a row that has waited', async () => {
    const { publisher, log } = await setUp({ dated: 1 });
    const beforeMs = Date.now();
    await publish(publisher, [rowOf('dated')]);
    const [record] = await log.read();
    expect(record?.timestampMs).toBeGreaterThanOrEqual(beforeMs);
    expect(record?.headers['outbox-created-at']).toBe('2026-03-29T01:02:03.456Z');
  });

  it('routes rows by a function, and keeps their topic in a header', async () => {
    const { publisher, log } = await setUp({ events: 1 }, { topic: () => 'events' });
    await publish(publisher, [rowOf('order.paid'), rowOf('order.sent')]);
    const records = await log.read();
    expect(records.map(({ headers }) => headers['outbox-topic'])).toEqual(['order.paid', 'order.sent']);
  });

  it('sends CloudEvents in binary mode, with the key as partition key', async () => {
    const { publisher, log } = await setUp({ cloud: 1 }, { cloudEvents: { source: '/shop' } });
    const row = rowOf('cloud', { key: 'order-7', headers: { traceparent: '00-aa-bb-01' } });
    await publish(publisher, [row]);
    const [record] = await log.read();
    expect(record).toMatchObject({ key: 'order-7', value: Buffer.from('{"amount":12}') });
    expect(record?.headers).toMatchObject({
      ce_specversion: '1.0',
      ce_id: row.id,
      ce_source: '/shop',
      ce_type: 'cloud',
      ce_time: '2026-03-29T01:02:03.456Z',
      ce_partitionkey: 'order-7',
      ce_traceparent: '00-aa-bb-01',
      traceparent: '00-aa-bb-01',
      'content-type': 'application/json',
    });
  });

  it('splits by the bytes of a partition, and sends the pieces one after another', async () => {
    const { publisher, log, produced } = await setUp({ bytes: 1 }, { maxBatchBytes: 100_000 });
    const text = 'x'.repeat(30_000);
    const rows = rowsOf('bytes', 10, () => ({ key: 'one', payload: { text } }));
    expect(new Set(statusesOf(await publish(publisher, rows)))).toEqual(new Set(['stored']));
    expect(Math.max(...produced().map(({ body }) => body.length))).toBeLessThan(100_000);
    expect(produced()).toHaveLength(4);
    expect(arrived(await log.read())).toEqual(idsOf(rows));
  });

  it('halves a batch that is too large until the row that can not be stored is alone', async () => {
    const { publisher, log } = await setUp({ halves: 1 });
    const rows = rowsOf('halves', 8);
    // 1-8, 1-4, 5-8, 5-6, 5, 6-7, 6, 7-8
    const large = 'messageTooLarge';
    cluster.failNext(1, 'produce', large, 'none', large, large, 'none', large, large, 'none');
    const results = await publish(publisher, rows);
    const stored = 'stored';
    expect(statusesOf(results)).toEqual([
      stored,
      stored,
      stored,
      stored,
      stored,
      'PermanentError',
      stored,
      stored,
    ]);
    expect(reasonOf(results[5])).toMatchObject({ permanent: true, cause: expect.anything() });
    expect(arrived(await log.read())).toEqual(idsOf(rows.filter((_, index) => index !== 5)));
  });

  it.each(['recordListTooLarge', 'invalidRecord'] as const)(
    'looks for the row behind %s too',
    async (error) => {
      const topic = `refused-${error}`;
      const { publisher } = await setUp({ [topic]: 1 });
      cluster.failNext(1, 'produce', error, error, 'none');
      expect(statusesOf(await publish(publisher, rowsOf(topic, 2)))).toEqual(['PermanentError', 'stored']);
    },
  );

  it('does not send the rows behind one of their key that can not be stored', async () => {
    const { publisher, log } = await setUp({ behind: 1 });
    const rows = ['a', 'b', 'a', 'b'].map((key) => rowOf('behind', { key }));
    const large = 'messageTooLarge';
    // 1-4, 1-2, 1, 2-4: the third row is not among these any more
    cluster.failNext(1, 'produce', large, large, large, 'none');
    const results = await publish(publisher, rows);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(arrived(await log.read())).toEqual(idsOf([rows[1], rows[3]].filter((row) => row !== undefined)));
  });

  it('goes on with other topics when one does not exist', async () => {
    cluster.createTopic('absent', 1);
    cluster.failTopic('absent', 'unknownTopic');
    const { publisher } = await setUp({ present: 1 });
    const results = await publish(publisher, [rowOf('present'), rowOf('absent'), rowOf('present')]);
    expect(statusesOf(results)).toEqual(['stored', 'UnavailableError', 'stored']);
    expect(reasonOf(results[1])).toMatchObject({
      message: "Kafka topic 'absent' does not exist, or this client may not see it",
      isCertain: false,
    });
  });

  it('delivers each of many concurrent rows once when it is idempotent', async () => {
    cluster.setVersions('initProducerId', 0, 2);
    const { publisher, log } = await setUp({ idempotent: 3 }, { idempotent: true });
    const rows = rowsOf('idempotent', 50, (index) => ({ key: `key-${index % 5}` }));
    const results = await Promise.all(rows.map((row) => publish(publisher, [row])));
    expect(new Set(statusesOf(results.flat()))).toEqual(new Set(['stored']));
    expect(arrived(await log.read()).sort()).toEqual(idsOf(rows).sort());
  });
});

function arrived(records: readonly LoggedRecord[]): string[] {
  return records.map(({ headers }) => headers['outbox-id'] ?? '');
}
