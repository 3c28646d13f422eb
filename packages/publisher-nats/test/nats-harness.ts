import { randomUUID } from 'node:crypto';
import type { TestBroker } from '@internal/test-brokers/broker-process';
import { connectNats, startNats } from '@internal/test-brokers/nats';
import { DiscardPolicy, type JetStreamManager, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { MessageFormat, OutboxPublisher, OutboxRow } from '@postcommit/core';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { type NatsPublisherOptions, natsPublisher } from '../src/index.js';

export const USER = 'app';
export const PASS = 'jetstream-pass-4711';
const MAX_PAYLOAD = 1_048_576;
const WINDOW_NS = 600_000_000_000;

let server: Promise<TestBroker> | undefined;

/** One server for all tests of a file. */
export function natsServer(): Promise<TestBroker> {
  server ??= startNats({ user: USER, pass: PASS });
  return server;
}

export async function closeNatsServer(): Promise<void> {
  const running = server;
  server = undefined;
  await (await running)?.close();
}

/** A connection of the test itself, opened again after it was closed. */
export class Observer {
  readonly #broker: TestBroker;
  #connection: NatsConnection | undefined;

  constructor(broker: TestBroker) {
    this.#broker = broker;
  }

  async connection(): Promise<NatsConnection> {
    if (!this.#connection || this.#connection.isClosed())
      this.#connection = await connectNats(this.#broker, { user: USER, pass: PASS });
    return this.#connection;
  }

  async manager(): Promise<JetStreamManager> {
    return jetstreamManager(await this.connection());
  }

  async disconnect(): Promise<void> {
    await this.#connection?.close();
  }
}

/** All messages of a stream, in its order. Remembers those that it has read. */
export class StreamReader {
  readonly #observer: Observer;
  readonly #stream: string;
  readonly #read: ReceivedMessage[] = [];
  #next = 1;

  constructor(observer: Observer, stream: string) {
    this.#observer = observer;
    this.#stream = stream;
  }

  async read(): Promise<readonly ReceivedMessage[]> {
    const connection = await this.#observer.connection();
    const manager = await this.#observer.manager();
    const { last_seq: last } = (await manager.streams.info(this.#stream)).state;
    if (last < this.#next) return this.#read;
    const inbox = `_INBOX.${randomUUID()}`;
    const arrived = connection.subscribe(inbox, { max: last - this.#next + 1 });
    await manager.consumers.add(this.#stream, {
      deliver_subject: inbox,
      deliver_policy: 'by_start_sequence' as never,
      opt_start_seq: this.#next,
      ack_policy: 'none' as never,
      inactive_threshold: 5_000_000_000,
    });
    for await (const message of arrived) this.#read.push(received(message));
    this.#next = last + 1;
    return this.#read;
  }
}

function received({ subject, data, headers: all }: Msg): ReceivedMessage {
  const pairs = (all?.keys() ?? []).map((name) => [name, all?.get(name) ?? ''] as const);
  const values = new Map(pairs);
  return {
    id: values.get('outbox-id') ?? '',
    nativeId: values.get('Nats-Msg-Id'),
    destination: subject,
    key: values.get('outbox-key'),
    body: data,
    contentType: values.get('content-type'),
    headers: Object.fromEntries(pairs),
  };
}

export function natsHarness(): PublisherHarness {
  return {
    traits: { dedupes: true, ordersByKey: true, keepsHeaderCase: true },
    open: openFixture,
  };
}

async function openFixture(): Promise<PublisherFixture> {
  const broker = await natsServer();
  const observer = new Observer(broker);
  const link = await openLink(broker);
  const prefix = `t${randomUUID().replaceAll('-', '')}`;
  const stream = `${prefix}-orders`;
  const streams = (await observer.manager()).streams;
  await streams.add({
    name: stream,
    subjects: [`${prefix}.orders`],
    discard: DiscardPolicy.New,
    duplicate_window: WINDOW_NS,
  });
  await streams.add({ name: `${prefix}-other`, subjects: [`${prefix}.other`] });
  const reader = new StreamReader(observer, stream);
  const topic = `${prefix}.orders`;
  const options = {
    servers: `${link.host}:${link.port}`,
    user: USER,
    pass: PASS,
    stream,
    subjects: [topic],
    timeoutMs: 1_500,
    connectTimeoutMs: 1_500,
  };
  return {
    topic,
    link,
    createPublisher: (format: MessageFormat = {}) => natsPublisher({ ...options, ...format }),
    received: () => reader.read(),
    unroutableTopic: `${prefix}.nowhere`,
    refusingTopic: `${prefix}.other`,
    impossibleRows,
    maxBodyBytes: MAX_PAYLOAD - headerBytes(topic, stream),
    secrets: [PASS],
    withWrongCredentials: () => natsPublisher({ ...options, pass: `not-${PASS}` }),
    withBorrowedClient: () => borrow(link, options),
    untruthful: () => untruthful(observer, prefix, options),
    restartBroker: async () => {
      // Its client would reconnect only after a while.
      await observer.disconnect();
      await broker.kill();
      await broker.start();
    },
    close: async () => {
      await link.close();
      const { streams: all } = await observer.manager();
      for (const name of await all.names(`${prefix}.>`).next()) await all.delete(name);
      await observer.disconnect();
    },
  };
}

function impossibleRows(row: OutboxRow): Record<string, OutboxRow> {
  const subjects = {
    'a wildcard': 'orders.*',
    'all that follows': 'orders.>',
    'a space': 'orders. paid',
    'an empty token': 'orders..paid',
    'a dot at the end': 'orders.',
    'a subject of the server': '$JS.API.STREAM.DELETE.orders',
    'a line break': 'orders.paid\r\nPUB other 0',
  };
  return {
    ...Object.fromEntries(Object.entries(subjects).map(([why, topic]) => [why, { ...row, topic }])),
    'an instruction to the server': { ...row, headers: { 'nats-rollup': 'all' } },
  };
}

/** What a row without a key and headers of its own takes besides its body. */
function headerBytes(topic: string, stream: string): number {
  const all = headers();
  for (const [name, value] of [
    ['outbox-id', randomUUID()],
    ['outbox-topic', topic],
    ['outbox-created-at', new Date().toISOString()],
    ['content-type', 'application/json'],
    ['Nats-Msg-Id', randomUUID()],
    ['Nats-Expected-Stream', stream],
  ] as const)
    all.set(name, value);
  return Buffer.byteLength(String(all));
}

async function borrow(
  { host, port }: { host: string; port: number },
  {
    servers: _,
    user,
    pass,
    connectTimeoutMs: __,
    ...options
  }: NatsPublisherOptions & Record<string, unknown>,
): Promise<{ publisher: OutboxPublisher; isOpen(): boolean; close(): Promise<void> }> {
  const connection = await connect({ servers: `${host}:${port}`, user: String(user), pass: String(pass) });
  return {
    publisher: natsPublisher({ ...options, connection } as NatsPublisherOptions),
    isOpen: () => !connection.isClosed(),
    close: () => connection.close(),
  };
}

/** A stream for each setting that weakens a confirmation. */
async function untruthful(
  observer: Observer,
  prefix: string,
  options: NatsPublisherOptions,
): Promise<Record<string, OutboxPublisher>> {
  const settings = {
    'kept in memory': { storage: StorageType.Memory },
    'a short window': { duplicate_window: 120_000_000_000 },
    'deletes the oldest': { discard: DiscardPolicy.Old, max_msgs: 10 },
    'keeps one per subject': { max_msgs_per_subject: 1 },
    'deletes without consumers': { retention: 'interest' as never },
    'without confirmations': { no_ack: true },
  };
  const { streams } = await observer.manager();
  const publishers: Record<string, OutboxPublisher> = {};
  for (const [index, [what, setting]] of Object.entries(settings).entries()) {
    const subjects = [`${prefix}.weak${index}`];
    const name = `${prefix}-weak${index}`;
    const sound = { duplicate_window: WINDOW_NS, discard: DiscardPolicy.New };
    await streams.add({ name, subjects, ...sound, ...setting });
    publishers[what] = natsPublisher({ ...options, stream: name, subjects });
  }
  return publishers;
}
