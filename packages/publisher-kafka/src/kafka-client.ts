import { OutboxError } from '@postcommit/core';
import type { KafkaProducer } from './kafka-producer.js';
import type { ResolvedOptions } from './kafka-publisher-options.js';

/** A producer that is connected. */
export interface KafkaClient {
  readonly producer: KafkaProducer;
  /** Closes its sockets at once. What has been written may still arrive. Does nothing to a producer that is borrowed. */
  close(): Promise<void>;
}

interface ClosableClient {
  readonly connections: Iterable<readonly [unknown, { readonly socket: { destroy(): void } | undefined }]>;
  close(): Promise<void>;
}

type Kafka = typeof import('@platformatic/kafka');

/** How long one broker may take to accept a connection. */
const MAX_CONNECT_MS = 5_000;
/** With none, or with 1, an idempotent producer of this package would try forever. */
const IDEMPOTENT_RETRIES = 2;
const RETRY_DELAY_MS = 200;
/** Its last version for Node 20 loses messages. */
const LEAST_NODE = [22, 22] as const;

/** Loaded when it is needed: the package itself can be imported, and its options checked, on any Node. */
export async function loadKafka(): Promise<Kafka> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [leastMajor, leastMinor] = LEAST_NODE;
  if (major < leastMajor || (major === leastMajor && minor < leastMinor))
    throw new OutboxError('INVALID_CONFIG', `kafkaPublisher needs Node ${LEAST_NODE.join('.')} or newer`);
  return import('@platformatic/kafka');
}

/** The options that every client of the package shares. `attempt` says with which broker to begin. */
export function clientOptions(
  options: ResolvedOptions,
  attempt = 0,
): {
  clientId: string;
  bootstrapBrokers: string[];
  connectTimeout: number;
  requestTimeout: number;
  timeout: number;
  retries: number;
  autocreateTopics: boolean;
} {
  const { brokers = [], clientId, timeoutMs, sasl, tls } = options;
  const first = attempt % Math.max(1, brokers.length);
  return {
    clientId,
    // A broker that accepts connections but never answers must not be the first one forever.
    bootstrapBrokers: [...brokers.slice(first), ...brokers.slice(0, first)],
    connectTimeout: Math.min(MAX_CONNECT_MS, timeoutMs),
    requestTimeout: timeoutMs,
    timeout: timeoutMs,
    retries: 0,
    autocreateTopics: false,
    ...(sasl && { sasl: { ...sasl } }),
    ...(tls && { tls: { ...tls } }),
  };
}

/** Creates a producer and connects it. Rejects with the error of the client; soon, if the signal aborts. */
export async function openClient(
  options: ResolvedOptions,
  attempt: number,
  signal: AbortSignal,
): Promise<KafkaClient> {
  if (options.producer) return { producer: options.producer, close: async () => {} };
  const { Producer } = await loadKafka();
  const idempotency = options.idempotent
    ? { idempotent: true, retries: IDEMPOTENT_RETRIES, retryDelay: RETRY_DELAY_MS }
    : {};
  const producer = new Producer({ ...clientOptions(options, attempt), ...idempotency });
  const close = (): Promise<void> => closeNow(producer);
  signal.addEventListener('abort', close);
  try {
    await producer.metadata({ topics: [], autocreateTopics: false, retries: 0 });
    return { producer, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
  }
}

/** An orderly close waits for what was written to leave this host, which a frozen network never lets happen. */
export async function closeNow(client: ClosableClient): Promise<void> {
  for (const [, { socket }] of client.connections) socket?.destroy();
  await client.close();
}
