import type { OutboxPublisher } from '@postcommit/core';

/** A message as it lies at the broker. */
export interface Received {
  readonly id: string;
  readonly key: string | undefined;
  readonly number: number;
}

/** A private broker under load. */
export interface BrokerTarget {
  readonly name: string;
  /** What is done to it, in words. */
  readonly fault: string;
  createPublisher(): OutboxPublisher;
  /** Does that once; resolves when the broker takes messages again. */
  hit(): Promise<void>;
  /** Everything that has arrived, in the order of arrival. */
  received(): Promise<readonly Received[]>;
  close(): Promise<void>;
}

/** What an order looks like to a consumer. */
export interface Payload {
  readonly key: string | null;
  readonly number: number;
}

export function receivedOf(id: string, body: string): Received {
  const { key, number } = JSON.parse(body) as Payload;
  return { id, key: key ?? undefined, number };
}
