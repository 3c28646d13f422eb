import type { Consumer } from '@platformatic/kafka';

/** A record as it is in the log. */
export interface LoggedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string | undefined;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly timestampMs: number;
}

type RawConsumer = Consumer<Buffer, Buffer, Buffer, Buffer>;
type RawBatch = NonNullable<
  Awaited<ReturnType<RawConsumer['fetch']>>['responses'][number]['partitions'][number]['records']
>[number];

const MAX_BYTES = 64 * 1024 * 1024;

/** Reads topics from their beginning, without a consumer group. Needs Node 22. */
export class KafkaLog {
  readonly #topics: readonly string[];
  readonly #consumer: RawConsumer;
  /** Where each partition is read next. */
  readonly #offsets = new Map<string, number>();
  readonly #records: LoggedRecord[] = [];

  private constructor(topics: readonly string[], consumer: RawConsumer) {
    this.#topics = topics;
    this.#consumer = consumer;
  }

  static async open(brokers: readonly string[], ...topics: readonly string[]): Promise<KafkaLog> {
    const { Consumer } = await import('@platformatic/kafka');
    const consumer = new Consumer({
      clientId: 'log',
      groupId: 'log',
      bootstrapBrokers: [...brokers],
      autocreateTopics: false,
    });
    return new KafkaLog(topics, consumer);
  }

  /** Everything so far: what is new since the last call comes last. */
  async read(): Promise<readonly LoggedRecord[]> {
    const metadata = await this.#consumer.metadata({ topics: [...this.#topics], forceUpdate: true });
    for (const [topic, { id, partitions }] of metadata.topics)
      for (const [partition, { leader }] of partitions.entries())
        while (await this.#fetch(topic, id, partition, leader));
    return [...this.#records];
  }

  async close(): Promise<void> {
    await this.#consumer.close(true);
  }

  /** Returns whether there may be more. */
  async #fetch(topic: string, topicId: string, partition: number, node: number): Promise<boolean> {
    const place = `${topic}:${partition}`;
    const offset = this.#offsets.get(place) ?? 0;
    const part = {
      partition,
      currentLeaderEpoch: -1,
      fetchOffset: BigInt(offset),
      lastFetchedEpoch: -1,
      partitionMaxBytes: MAX_BYTES,
    };
    const { responses } = await this.#consumer.fetch({
      node,
      minBytes: 0,
      maxBytes: MAX_BYTES,
      maxWaitTime: 0,
      isolationLevel: 0,
      topics: [{ topicId, partitions: [part] }],
    });
    const batches = responses[0]?.partitions[0]?.records ?? [];
    // A batch is read as a whole, though the offset may be in its middle.
    const found = batches.flatMap((batch) => recordsOf(topic, partition, batch));
    const fresh = found.filter((record) => record.offset >= offset);
    this.#records.push(...fresh);
    this.#offsets.set(place, offset + fresh.length);
    return fresh.length > 0;
  }
}

function recordsOf(topic: string, partition: number, batch: RawBatch): LoggedRecord[] {
  return batch.records.map((record) => ({
    topic,
    partition,
    offset: Number(batch.firstOffset) + record.offsetDelta,
    key: record.key?.toString(),
    value: record.value ?? Buffer.alloc(0),
    headers: Object.fromEntries(record.headers.map(([name, value]) => [String(name), String(value)])),
    timestampMs: Number(batch.firstTimestamp + record.timestampDelta),
  }));
}
