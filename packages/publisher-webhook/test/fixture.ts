import type { OutboxPublisher, OutboxRow } from '@postcommit/core';
import { afterEach } from 'vitest';
import { type WebhookOptions, webhookPublisher } from '../src/index.js';
import { RecordingServer } from './recording-server.js';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const closing: Array<() => Promise<unknown> | undefined> = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A server that is closed after the test. */
export async function openServer(host?: string): Promise<RecordingServer> {
  const server = await RecordingServer.open(host);
  closing.push(() => server.close());
  return server;
}

/** A publisher that is stopped after the test. */
export function publisherOf(options: Pick<WebhookOptions, 'url'> & Partial<WebhookOptions>): OutboxPublisher {
  const publisher = webhookPublisher({ secret: SECRET, ...options });
  closing.push(() => publisher.stop?.({ graceMs: 0 }));
  return publisher;
}

export function rowWith(fields: Partial<OutboxRow> = {}): OutboxRow {
  return {
    id: 'row-1',
    topic: 'order.paid',
    payload: { amount: 7 },
    headers: {},
    createdAt: new Date('2026-03-29T01:02:03.456Z'),
    availableAt: new Date(0),
    attempts: 0,
    retakes: 0,
    retry: {},
    ...fields,
  };
}

/** Publishes a row, as a dispatcher does it. */
export function publish(publisher: OutboxPublisher, row = rowWith(), signal?: AbortSignal): Promise<void> {
  return publisher.publish(row, {
    attempt: row.attempts + 1,
    signal: signal ?? new AbortController().signal,
  });
}

/** The error that a publish ends with. */
export async function failureOf(publisher: OutboxPublisher, row = rowWith()): Promise<Error> {
  const error = await publish(publisher, row).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Error) return error;
  throw new Error('the row was delivered');
}
