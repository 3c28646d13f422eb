import { promisify } from 'node:util';
import koffi from 'koffi';
import { BrokerUnavailable } from './broker-process.js';

export type { LoggedRecord } from './kafka-log.js';
export { KafkaLog } from './kafka-log.js';

/** Error codes of the protocol that the tests make the mock cluster answer with. */
export const KAFKA_ERRORS = {
  none: 0,
  unknownTopic: 3,
  notLeader: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  recordListTooLarge: 18,
  notEnoughReplicas: 19,
  topicAuthorizationFailed: 29,
  saslAuthenticationFailed: 58,
  invalidRecord: 87,
} as const;

/** Requests by their number in the protocol. */
export const KAFKA_REQUESTS = { produce: 0, listOffsets: 2, metadata: 3, initProducerId: 22 } as const;

type KafkaRequest = keyof typeof KAFKA_REQUESTS;
type KafkaError = keyof typeof KAFKA_ERRORS;

const LIBRARY = 'librdkafka.so.1';
const ERROR_TEXT_BYTES = 512;
const QUIET = '0';
const MAX_LIST_OFFSETS = 3;

/**
 * librdkafka's mock cluster: real brokers to any client, on free ports of this host, with a log in memory. It is part of
 * Debian's librdkafka1, ends with the process, and keeps nothing. It creates every topic that it is asked for, and
 * checks neither sizes nor sequence numbers.
 */
export class MockKafkaCluster {
  readonly #library = loadLibrary();
  readonly #client: unknown;
  readonly #cluster: unknown;
  /** The brokers' addresses, in the order of their ids, which begin at 1. */
  readonly brokers: readonly string[];

  /** @throws BrokerUnavailable where librdkafka is not installed. */
  constructor(brokers = 3) {
    const { newConfig, setConfig, newClient, newCluster, bootstraps } = this.#library;
    const text = Buffer.alloc(ERROR_TEXT_BYTES);
    const config = newConfig();
    setConfig(config, 'log_level', QUIET, text, text.length);
    this.#client = newClient(0, config, text, text.length);
    this.#cluster = newCluster(this.#client, brokers);
    this.brokers = bootstraps(this.#cluster).split(',');
    // It offers newer ones too, but its answers to those lack a field.
    this.setVersions('listOffsets', 0, MAX_LIST_OFFSETS);
  }

  /** It has as many replicas as there are brokers, three at most. */
  createTopic(name: string, partitions: number): void {
    this.#library.createTopic(this.#cluster, name, partitions, 1);
  }

  setLeader(topic: string, partition: number, broker: number): void {
    this.#library.setLeader(this.#cluster, topic, partition, broker);
  }

  /** Refuses connections and cuts those that are open. */
  takeDown(broker: number): void {
    this.#library.setDown(this.#cluster, broker);
  }

  bringUp(broker: number): void {
    this.#library.setUp(this.#cluster, broker);
  }

  /** The time that every answer of this broker takes. */
  slowDown(broker: number, answerMs: number): void {
    this.#library.setRoundTrip(this.#cluster, broker, answerMs);
  }

  /** The next requests of this kind to this broker are answered with these errors, and have no effect. */
  failNext(broker: number, request: KafkaRequest, ...errors: readonly KafkaError[]): void {
    for (const error of errors) this.#pushError(broker, request, error, 0);
  }

  /** The answer to the next request of this kind to this broker is late. What was asked for happens. */
  delayNext(broker: number, request: KafkaRequest, answerMs: number): void {
    this.#pushError(broker, request, 'none', answerMs);
  }

  /** Everything about this topic fails, until the error is `none`. */
  failTopic(topic: string, error: KafkaError): void {
    this.#library.setTopicError(this.#cluster, topic, KAFKA_ERRORS[error]);
  }

  /** Which versions of a request the brokers understand. */
  setVersions(request: KafkaRequest, least: number, most: number): void {
    this.#library.setVersions(this.#cluster, KAFKA_REQUESTS[request], least, most);
  }

  /** Often takes a second, which librdkafka sleeps. */
  async close(): Promise<void> {
    const { destroyCluster, destroyClient } = this.#library;
    await promisify(destroyCluster.async)(this.#cluster);
    destroyClient(this.#client);
  }

  #pushError(broker: number, request: KafkaRequest, error: KafkaError, answerMs: number): void {
    const { pushBrokerError } = this.#library;
    const [kind, code] = [KAFKA_REQUESTS[request], KAFKA_ERRORS[error]];
    pushBrokerError(this.#cluster, broker, kind, 1, 'int', code, 'int', answerMs);
  }
}

/** The partition that Java's client chooses, as librdkafka computes it. */
export function javaPartition(key: string, partitions: number): number {
  const bytes = Buffer.from(key);
  return loadLibrary().murmur2Partition(null, bytes, bytes.length, partitions, null, null);
}

/** Why the mock cluster can't run here; undefined if it can. */
export function whyNoMockKafka(): string | undefined {
  try {
    loadLibrary();
    return undefined;
  } catch (error) {
    if (error instanceof BrokerUnavailable) return error.message;
    throw error;
  }
}

type Handle = unknown;

/** The functions of rdkafka_mock.h, with what they need of rdkafka.h. */
interface Library {
  newConfig(): Handle;
  setConfig(config: Handle, name: string, value: string, errorText: Buffer, bytes: number): number;
  newClient(type: number, config: Handle, errorText: Buffer, bytes: number): Handle;
  destroyClient(client: Handle): void;
  newCluster(client: Handle, brokers: number): Handle;
  readonly destroyCluster: { async(cluster: Handle, callback: (error: unknown) => void): void };
  bootstraps(cluster: Handle): string;
  createTopic(cluster: Handle, name: string, partitions: number, replicas: number): number;
  setLeader(cluster: Handle, topic: string, partition: number, broker: number): number;
  setDown(cluster: Handle, broker: number): number;
  setUp(cluster: Handle, broker: number): number;
  setRoundTrip(cluster: Handle, broker: number, ms: number): number;
  pushBrokerError(
    cluster: Handle,
    broker: number,
    request: number,
    count: number,
    ...errorsAndDelays: readonly ('int' | number)[]
  ): number;
  murmur2Partition(
    topic: null,
    key: Buffer,
    bytes: number,
    partitions: number,
    topicOpaque: null,
    opaque: null,
  ): number;
  setTopicError(cluster: Handle, topic: string, error: number): void;
  setVersions(cluster: Handle, request: number, least: number, most: number): number;
}

const SIGNATURES: Readonly<Record<keyof Library, string>> = {
  newConfig: 'void *rd_kafka_conf_new()',
  setConfig:
    'int rd_kafka_conf_set(void *conf, const char *name, const char *value, _Out_ uint8_t *text, size_t size)',
  newClient: 'void *rd_kafka_new(int type, void *conf, _Out_ uint8_t *text, size_t size)',
  destroyClient: 'void rd_kafka_destroy(void *rk)',
  newCluster: 'void *rd_kafka_mock_cluster_new(void *rk, int brokers)',
  destroyCluster: 'void rd_kafka_mock_cluster_destroy(void *mc)',
  bootstraps: 'const char *rd_kafka_mock_cluster_bootstraps(void *mc)',
  createTopic: 'int rd_kafka_mock_topic_create(void *mc, const char *topic, int partitions, int replicas)',
  setLeader: 'int rd_kafka_mock_partition_set_leader(void *mc, const char *topic, int partition, int broker)',
  setDown: 'int rd_kafka_mock_broker_set_down(void *mc, int broker)',
  setUp: 'int rd_kafka_mock_broker_set_up(void *mc, int broker)',
  setRoundTrip: 'int rd_kafka_mock_broker_set_rtt(void *mc, int broker, int ms)',
  pushBrokerError:
    'int rd_kafka_mock_broker_push_request_error_rtts(void *mc, int broker, int16_t api, size_t count, ...)',
  murmur2Partition:
    'int rd_kafka_msg_partitioner_murmur2(const void *rkt, const void *key, size_t bytes, int partitions, void *opaque, void *message)',
  setTopicError: 'void rd_kafka_mock_topic_set_error(void *mc, const char *topic, int error)',
  setVersions: 'int rd_kafka_mock_set_apiversion(void *mc, int16_t api, int16_t least, int16_t most)',
};

let loaded: Library | undefined;

function loadLibrary(): Library {
  loaded ??= bind(openLibrary());
  return loaded;
}

function bind(library: ReturnType<typeof openLibrary>): Library {
  const functions = Object.entries(SIGNATURES).map(([name, text]) => [name, library.func(text)]);
  return Object.fromEntries(functions) as Library;
}

function openLibrary(): ReturnType<typeof koffi.load> {
  try {
    return koffi.load(LIBRARY);
  } catch (cause) {
    throw new BrokerUnavailable('no librdkafka to run on', { cause });
  }
}
