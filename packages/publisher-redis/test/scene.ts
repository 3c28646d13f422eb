import { randomUUID } from 'node:crypto';
import { hasRedisServer, type RedisClient } from '@internal/test-brokers/redis';
import type { OutboxPublisher, OutboxRow, PublishResult } from '@postcommit/core';
import { type Link, openLink } from '@postcommit/publisher-testkit';
import { describe, onTestFinished } from 'vitest';
import { type RedisPublisherOptions, redisPublisher } from '../src/index.js';
import { messagesIn, observe, PASSWORD, redisServer, urlOf } from './redis-harness.js';

export const describeOnRedis = describe.runIf(hasRedisServer());

/** A server behind a link, and a stream that ends with the test. */
export interface RedisScene {
  readonly observer: RedisClient;
  readonly link: Link;
  /** A stream that only this test uses. */
  readonly stream: string;
  /** The ids of the rows in it. */
  ids(): Promise<string[]>;
  /** A publisher that is stopped at the end. */
  publisher(options?: Partial<RedisPublisherOptions>): OutboxPublisher;
}

export async function openRedisScene(config: Readonly<Record<string, string>> = {}): Promise<RedisScene> {
  const server = await redisServer(config);
  const [observer, link] = await Promise.all([observe(server), openLink(server)]);
  const stream = `orders:${randomUUID()}`;
  onTestFinished(async () => {
    await link.close();
    await observer.del(stream).catch(() => {});
    observer.destroy();
  });
  return {
    observer,
    link,
    stream,
    ids: async () => (await messagesIn(observer, stream)).map(({ nativeId }) => nativeId ?? ''),
    publisher: (options = {}) => {
      const own = options.client ? {} : { url: urlOf(link), password: PASSWORD, connectTimeoutMs: 1_000 };
      const all = { ...own, timeoutMs: 1_000, ...options } as RedisPublisherOptions;
      const publisher = redisPublisher(all);
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

export async function resultsOf(
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
): Promise<readonly PublishResult[]> {
  return (await publisher.publishBatch?.(rows, { signal: new AbortController().signal })) ?? [];
}
