import { randomUUID } from 'node:crypto';
import { hasRedisServer, type RedisClient } from '@internal/test-brokers/redis';
import type { OutboxPublisher, OutboxRow } from '@postcommit/core';
import { type Link, openLink } from '@postcommit/publisher-testkit';
import { Queue } from 'bullmq';
import { describe, onTestFinished } from 'vitest';
import { type BullmqPublisherOptions, bullmqPublisher } from '../src/index.js';
import { jobsIn, observe, PASSWORD, redisServer, type StoredJob } from './bullmq-harness.js';

export const describeOnRedis = describe.runIf(hasRedisServer());

/** A server behind a link, and a queue that ends with the test. */
export interface BullmqScene {
  readonly observer: RedisClient;
  readonly link: Link;
  readonly connection: { readonly host: string; readonly port: number; readonly password: string };
  /** A queue that only this test uses. */
  readonly name: string;
  /** The jobs that wait in it. */
  jobs(): Promise<StoredJob[]>;
  /** A publisher that is stopped at the end. */
  publisher(options?: Partial<BullmqPublisherOptions>): OutboxPublisher;
  /** A queue of the application on the same server, through the link. */
  queue(connection?: object): Queue;
}

export async function openBullmqScene(config: Readonly<Record<string, string>> = {}): Promise<BullmqScene> {
  const server = await redisServer(config);
  const [observer, link] = await Promise.all([observe(server), openLink(server)]);
  const name = `orders-${randomUUID()}`;
  const connection = { host: link.host, port: link.port, password: PASSWORD };
  onTestFinished(async () => {
    await link.close();
    observer.destroy();
  });
  return {
    observer,
    link,
    connection,
    name,
    jobs: () => jobsIn(observer, name),
    publisher: (options = {}) => {
      const own = options.queue ? {} : { connection, name, connectTimeoutMs: 1_000 };
      const all = { ...own, timeoutMs: 1_000, ...options } as BullmqPublisherOptions;
      const publisher = bullmqPublisher(all);
      onTestFinished(() => publisher.stop?.({ graceMs: 0 }));
      return publisher;
    },
    queue: (options = {}) => {
      const queue = new Queue(name, { connection: { ...connection, retryStrategy: () => 50, ...options } });
      queue.on('error', () => {});
      onTestFinished(async () => {
        queue.disconnect().catch(() => {});
      });
      return queue;
    },
  };
}

export function rowOf(fields: Partial<OutboxRow> = {}): OutboxRow {
  const createdAt = new Date('2026-11-19T10:00:00Z');
  return {
    id: randomUUID(),
    topic: 'order.paid',
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
