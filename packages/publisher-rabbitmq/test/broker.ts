import { randomUUID } from 'node:crypto';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import {
  findRabbitmq,
  type RabbitmqSettings,
  startRabbitmq,
  type TestRabbitmq,
} from '@internal/test-brokers/rabbitmq';
import type { OutboxRow, PublishResult } from '@postcommit/core';
import { afterAll } from 'vitest';
import type { RabbitmqPublisher } from '../src/index.js';

/** A RabbitMQ of this test file, which ends with it. Undefined where none is installed. */
export async function ownBroker(settings?: RabbitmqSettings): Promise<TestRabbitmq | undefined> {
  try {
    const broker = await startRabbitmq(settings);
    afterAll(() => broker.close());
    return broker;
  } catch (error) {
    if (error instanceof BrokerUnavailable) return undefined;
    throw error;
  }
}

/** One that runs already, or else a RabbitMQ of this test file. */
export async function anyBroker(): Promise<string | undefined> {
  return (await findRabbitmq()) ?? (await ownBroker())?.url;
}

export function row(
  fields: Partial<Pick<OutboxRow, 'id' | 'topic' | 'key' | 'payload' | 'headers'>> = {},
): OutboxRow {
  const now = new Date('2026-03-29T01:02:03.456Z');
  return {
    id: randomUUID(),
    topic: 'orders',
    payload: { amount: 12 },
    headers: {},
    createdAt: now,
    availableAt: now,
    attempts: 0,
    retakes: 0,
    retry: {},
    ...fields,
  };
}

export function rows(
  count: number,
  fields: (index: number) => Parameters<typeof row>[0] = () => ({}),
): OutboxRow[] {
  return Array.from({ length: count }, (_, index) => row(fields(index)));
}

export function publish(
  publisher: RabbitmqPublisher,
  batch: readonly OutboxRow[],
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly PublishResult[]> {
  return publisher.publishBatch(batch, { signal });
}

/** The error of a row that failed. */
export function reasonOf(result: PublishResult | undefined): Record<string, unknown> & Error {
  if (result?.status !== 'rejected') throw new Error('the row did not fail');
  return result.reason as Record<string, unknown> & Error;
}
