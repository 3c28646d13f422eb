/** Headers as clients have them: a record, a `Map`, `Headers`, or a list of records. Values may be bytes or lists. */
export type MessageHeaders = Iterable<unknown> | { readonly [name: string]: unknown };

/** What a handler of `amqplib` is called with. */
interface AmqpMessage {
  readonly content: Uint8Array;
  readonly properties: {
    readonly messageId?: unknown;
    readonly contentType?: unknown;
    readonly headers?: MessageHeaders | undefined;
  };
}

/** A message of NATS, from JetStream or not. */
interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: MessageHeaders | undefined;
}

/** A message of `@platformatic/kafka`, `kafkajs` or `node-rdkafka`. */
interface KafkaMessage {
  readonly value: unknown;
  readonly headers?: MessageHeaders | undefined;
}

/** What `eachMessage` of `kafkajs` is called with. */
interface KafkaPayload {
  readonly topic: string;
  readonly partition: number;
  readonly message: KafkaMessage;
}

/** A message of Amazon SQS, as the SDK returns it. */
interface SqsMessage {
  readonly Body?: string | undefined;
  readonly MessageAttributes?: { readonly [name: string]: object } | undefined;
}

/** A message of Amazon SQS, as AWS Lambda has it. */
interface SqsRecord {
  readonly body: string;
  readonly messageAttributes: { readonly [name: string]: object };
}

/** An entry of a Redis stream, as `@redis/client` returns it. */
interface RedisEntry {
  readonly id: unknown;
  readonly message: { readonly [field: string]: unknown } | ReadonlyMap<unknown, unknown>;
}

/** An entry of a Redis stream, as `ioredis` returns it: its id, and its fields with their values in turn. */
type RedisTuple = readonly [id: string | Uint8Array, fields: ReadonlyArray<string | Uint8Array>];

/** A request, or what a webhook receiver passes to its handler. */
interface HttpMessage {
  readonly headers: MessageHeaders;
  /** For a CloudEvent, what was read: text or bytes. */
  readonly body?: unknown;
}

/**
 * A message as the client of your broker has it: of `amqplib`, NATS, `@platformatic/kafka`, `kafkajs`, `node-rdkafka`, Amazon
 * SQS (ask for `MessageAttributeNames: ['All']`), `@redis/client`, `ioredis`, or a request of fetch or Node.
 */
export type BrokerMessage =
  | AmqpMessage
  | NatsMessage
  | KafkaMessage
  | KafkaPayload
  | SqsMessage
  | SqsRecord
  | RedisEntry
  | RedisTuple
  | HttpMessage;
