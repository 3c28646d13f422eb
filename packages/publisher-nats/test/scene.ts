import { randomUUID } from 'node:crypto';
import { hasNatsServer } from '@internal/test-brokers/nats';
import type { StreamConfig } from '@nats-io/jetstream';
import type { OutboxPublisher, OutboxRow } from '@postcommit/core';
import { type Link, openLink } from '@postcommit/publisher-testkit';
import { describe, onTestFinished } from 'vitest';
import { type NatsPublisherOptions, natsPublisher } from '../src/index.js';
import { natsServer, Observer, PASS, StreamReader, USER } from './nats-harness.js';

export const describeOnNats = describe.runIf(hasNatsServer());

/** A server behind a link, and streams that end with the test. */
export interface NatsScene {
  readonly observer: Observer;
  readonly link: Link;
  /** A prefix of subjects that only this test uses. */
  readonly prefix: string;
  /** Creates the stream `<prefix>-<name>` for `<prefix>.<name>`. Returns both names, and what is in it. */
  stream(name: string, settings?: Partial<StreamConfig>): Promise<TestStream>;
  /** A publisher that is stopped at the end. */
  publisher(options?: Partial<NatsPublisherOptions>): OutboxPublisher;
}

export interface TestStream {
  readonly stream: string;
  readonly subject: string;
  readonly reader: StreamReader;
}

export async function openNatsScene(): Promise<NatsScene> {
  const broker = await natsServer();
  const observer = new Observer(broker);
  const link = await openLink(broker);
  const prefix = `s${randomUUID().replaceAll('-', '')}`;
  onTestFinished(async () => {
    await link.close();
    const { streams } = await observer.manager();
    for (const name of await streams.names(`${prefix}.>`).next()) await streams.delete(name);
    await observer.disconnect();
  });
  return {
    observer,
    link,
    prefix,
    stream: async (name, settings = {}) => {
      const [stream, subject] = [`${prefix}-${name}`, `${prefix}.${name}`];
      await (await observer.manager()).streams.add({ name: stream, subjects: [subject], ...settings });
      return { stream, subject, reader: new StreamReader(observer, stream) };
    },
    publisher: (options = {}) => {
      const own = options.connection
        ? {}
        : { servers: `${link.host}:${link.port}`, user: USER, pass: PASS, connectTimeoutMs: 1_000 };
      const publisher = natsPublisher({ ...own, timeoutMs: 1_000, ...options } as NatsPublisherOptions);
      onTestFinished(() => publisher.stop?.({ graceMs: 0 }));
      return publisher;
    },
  };
}

export function rowOf(topic: string, fields: Partial<OutboxRow> = {}): OutboxRow {
  const createdAt = new Date('2026-11-19T10:00:00Z');
  return {
    id: randomUUID(),
    topic,
    payload: { total: 7 },
    headers: {},
    createdAt,
    availableAt: createdAt,
    attempts: 0,
    retakes: 0,
    retry: {},
    ...fields,
  };
}

/** The error of a publish, or undefined. */
export async function failureOf(
  publisher: OutboxPublisher,
  row: OutboxRow,
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    await publisher.publish(row, { attempt: 1, signal: signal ?? new AbortController().signal });
    return undefined;
  } catch (error) {
    return error ?? new Error('rejected without an error');
  }
}
