/** How batches are compressed. */
export type KafkaCompression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

/** A record as it is sent. */
export interface KafkaRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key?: Buffer;
  readonly value: Buffer;
  readonly headers: Map<Buffer, Buffer>;
}

/** Where a record was stored. */
export interface KafkaOffset {
  readonly topic: string;
  readonly partition: number;
}

/** What is known about a topic. */
export interface KafkaTopicMetadata {
  readonly partitionsCount: number;
  readonly partitions: ReadonlyArray<{ readonly replicas: readonly number[] }>;
}

/** What the publisher needs of a `Producer` of `@platformatic/kafka`. */
export interface KafkaProducer {
  send(options: {
    messages: KafkaRecord[];
    acks: number;
    autocreateTopics: boolean;
    repeatOnStaleMetadata: boolean;
    compression?: KafkaCompression;
  }): Promise<{ readonly offsets?: readonly KafkaOffset[] }>;
  metadata(options: {
    topics: string[];
    autocreateTopics: boolean;
    forceUpdate?: boolean;
    retries: number;
  }): Promise<{ readonly topics: ReadonlyMap<string, KafkaTopicMetadata> }>;
  clearMetadata(): void;
}
