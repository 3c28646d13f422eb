import { KafkaLog, type LoggedRecord, type MockKafkaCluster } from '@internal/test-brokers/kafka';
import type { OutboxRow } from '@postcommit/core';
import { expect, it, onTestFinished } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher } from '../src/index.js';
import { KafkaGate } from './kafka-gate.js';
import { describeOnMock } from './mock-cluster.js';
import { idsOf, publish, publishAll, reasonOf, rowOf, rowsOf, statusesOf } from './rows.js';

const BATCHES = 20;
const KEYS = 7;

describeOnMock('outages of the mock cluster', 3, (cluster) => {
  async function setUp(topic: string, partitions: number, options: Partial<KafkaPublisherOptions> = {}) {
    cluster.createTopic(topic, partitions);
    const log = await KafkaLog.open(cluster.brokers, topic);
    const publisher = kafkaPublisher({ brokers: cluster.brokers, timeoutMs: 2_000, ...options });
    onTestFinished(async () => {
      await publisher.stop?.({ graceMs: 0 });
      await log.close();
    });
    await publish(publisher, rowsOf(topic, partitions));
    const before = (await log.read()).length;
    return { publisher, newRecords: async () => (await log.read()).slice(before) };
  }

  it('stores the rows of a partition that moves to a broker which has answered already', async () => {
    cluster.createTopic('moved', 2);
    const { publisher, newRecords } = await setUp('moved', 2);
    cluster.setLeader('moved', 0, 1);
    cluster.setLeader('moved', 1, 2);
    await publishAll(publisher, rowsOf('moved', 2));
    cluster.failNext(1, 'produce', 'notLeader');
    cluster.setLeader('moved', 0, 2);
    const rows = rowsOf('moved', 2);
    expect(statusesOf(await publish(publisher, rows))).toEqual(['stored', 'stored']);
    const ids = idsOf(await messages(newRecords));
    for (const { id } of rows) expect(ids).toContain(id);
  });

  it('without retries, says which rows were stored and which partition has moved', async () => {
    const { publisher, newRecords } = await setUp('apart', 2, { retries: 0 });
    cluster.setLeader('apart', 0, 1);
    cluster.setLeader('apart', 1, 2);
    await publishAll(publisher, rowsOf('apart', 2));
    cluster.failNext(1, 'produce', 'notLeader');
    const rows = rowsOf('apart', 2);
    const results = await publish(publisher, rows);
    expect(statusesOf(results).sort()).toEqual(['UnavailableError', 'stored']);
    const ids = idsOf(await messages(newRecords));
    for (const [index, { id }] of rows.entries())
      expect(ids.includes(id), `row ${index}`).toBe(results[index]?.status === 'fulfilled');
  });

  it.each(['notEnoughReplicas', 'requestTimedOut'] as const)(
    'keeps the rows of a partition that answers %s, and stores the others',
    async (error) => {
      const topic = `partly-${error}`;
      const { publisher } = await setUp(topic, 2);
      cluster.setLeader(topic, 0, 1);
      cluster.setLeader(topic, 1, 2);
      await publishAll(publisher, rowsOf(topic, 2));
      cluster.failNext(1, 'produce', error);
      const results = await publish(publisher, rowsOf(topic, 4));
      expect(statusesOf(results).sort()).toEqual([
        'UnavailableError',
        'UnavailableError',
        'stored',
        'stored',
      ]);
      const failed = results.find(({ status }) => status === 'rejected');
      expect(reasonOf(failed)).toMatchObject({
        isCertain: false,
        message: expect.stringContaining(`${topic}:0`),
      });
    },
  );

  it('loses nothing and keeps the order of keys while leaders change', async () => {
    const { publisher, newRecords } = await setUp('wandering', 6);
    const rows = await publishThrough(publisher, 'wandering', (batch) => {
      cluster.setLeader('wandering', batch % 6, 1 + (batch % 3));
      if (batch % 4 === 0) cluster.failNext(1 + (batch % 3), 'produce', 'notLeader');
    });
    expectDelivered(await messages(newRecords), rows);
  });

  it('loses nothing and keeps the order of keys while brokers go down and come up', async () => {
    const { publisher, newRecords } = await setUp('flapping', 6);
    const rows = await publishThrough(publisher, 'flapping', (batch) => flap(cluster, batch));
    for (const broker of [1, 2, 3]) cluster.bringUp(broker);
    expectDelivered(await messages(newRecords), rows);
  });

  it('says that all brokers are away, is sure of it, and goes on when they are back', async () => {
    const { publisher } = await setUp('away', 3);
    for (const broker of [1, 2, 3]) cluster.takeDown(broker);
    await publish(publisher, rowsOf('away', 3));
    const [result] = await publish(publisher, [rowOf('away')]);
    expect(reasonOf(result)).toMatchObject({ unavailable: true, isCertain: true });
    for (const broker of [1, 2, 3]) cluster.bringUp(broker);
    await publishAll(publisher, rowsOf('away', 3));
  });

  it('ends in time when it is idempotent: the retries of the client are bounded', async () => {
    cluster.setVersions('initProducerId', 0, 2);
    const { publisher } = await setUp('bounded', 3, { idempotent: true });
    for (const broker of [1, 2, 3]) cluster.takeDown(broker);
    const beganMs = performance.now();
    const results = await publish(publisher, rowsOf('bounded', 3));
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    expect(new Set(statusesOf(results))).toEqual(new Set(['UnavailableError']));
    for (const broker of [1, 2, 3]) cluster.bringUp(broker);
    await publishAll(publisher, rowsOf('bounded', 3));
  });

  it('a row that was stored although its answer came too late arrives again under the same id', async () => {
    const { publisher, newRecords } = await setUp('late', 1, { timeoutMs: 300 });
    for (const broker of [1, 2, 3]) cluster.delayNext(broker, 'produce', 2_000);
    const row = rowOf('late');
    const [result] = await publish(publisher, [row]);
    expect(reasonOf(result)).toMatchObject({ unavailable: true, isCertain: false });
    await publishAll(publisher, [row, rowOf('late')]);
    const ids = idsOf(await messages(newRecords));
    expect(ids.filter((id) => id === row.id).length).toBeGreaterThanOrEqual(2);
    expect(new Set(ids).size).toBe(2);
  });

  it('does not stay with a broker that accepts connections and never answers', async () => {
    const gate = await KafkaGate.open(cluster.brokers[0], { answer: () => Buffer.alloc(0) });
    onTestFinished(() => gate.close());
    const silent = `${gate.address.host}:${gate.address.port}`;
    cluster.createTopic('second', 1);
    const publisher = kafkaPublisher({ brokers: [silent, ...cluster.brokers], timeoutMs: 500 });
    onTestFinished(() => publisher.stop?.({ graceMs: 0 }));
    await publishAll(publisher, [rowOf('second')]);
  });
});

/** Publishes batches one after another, and changes something before each. */
async function publishThrough(
  publisher: Parameters<typeof publishAll>[0],
  topic: string,
  change: (batch: number) => void,
): Promise<OutboxRow[]> {
  const rows: OutboxRow[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const batchRows = rowsOf(topic, 2 * KEYS, (index) => (index < KEYS ? { key: `key-${index}` } : {}));
    rows.push(...batchRows);
    const publishing = publishAll(publisher, batchRows);
    change(batch);
    await publishing;
  }
  return rows;
}

/** One broker is away at any time; the partitions that it led have another leader. */
function flap(cluster: MockKafkaCluster, batch: number): void {
  const [down, up] = [1 + (batch % 3), 1 + ((batch + 2) % 3)];
  cluster.bringUp(up);
  cluster.takeDown(down);
  for (let partition = 0; partition < 6; partition++)
    cluster.setLeader('flapping', partition, 1 + ((batch + 1 + (partition % 2)) % 3));
}

async function messages(
  read: () => Promise<readonly LoggedRecord[]>,
): Promise<{ id: string; key?: string }[]> {
  const records = await read();
  return records.map(({ key, headers }) => ({
    id: headers['outbox-id'] ?? '',
    ...(key !== undefined && { key }),
  }));
}

/** Every row is there, none that is not a row, and the first arrivals of a key are in its order. */
function expectDelivered(found: readonly { id: string; key?: string }[], rows: readonly OutboxRow[]): void {
  const ids = idsOf(found);
  expect(new Set(ids)).toEqual(new Set(idsOf(rows)));
  for (let index = 0; index < KEYS; index++) {
    const key = `key-${index}`;
    const expected = idsOf(rows.filter((row) => row.key === key));
    const first = [...new Set(idsOf(found.filter((message) => message.key === key)))];
    expect(first, key).toEqual(expected);
  }
}
