import { randomUUID } from 'node:crypto';
import type { OutboxPublisher, OutboxRow, PublishResult } from '@postcommit/core';

/** A row as the engine passes it to a publisher. */
export function rowOf(topic: string, fields: Partial<OutboxRow> = {}): OutboxRow {
  const createdAt = new Date('2026-03-29T01:02:03.456Z');
  return {
    id: randomUUID(),
    topic,
    payload: { amount: 12 },
    headers: {},
    createdAt,
    availableAt: createdAt,
    attempts: 0,
    retakes: 0,
    retry: {},
    ...fields,
  };
}

export function rowsOf(
  topic: string,
  count: number,
  fields: (index: number) => Partial<OutboxRow> = () => ({}),
): OutboxRow[] {
  return Array.from({ length: count }, (_, index) => rowOf(topic, fields(index)));
}

/** Publishes rows as one batch. */
export function publish(
  publisher: OutboxPublisher,
  rows: readonly OutboxRow[],
): Promise<readonly PublishResult[]> {
  if (!publisher.publishBatch) throw new Error('the publisher has no publishBatch');
  return publisher.publishBatch(rows, { signal: new AbortController().signal });
}

/** Publishes rows as the engine does, until all are delivered: those behind a failed one of their key wait. */
export async function publishAll(publisher: OutboxPublisher, rows: readonly OutboxRow[]): Promise<void> {
  let waiting = rows;
  const deadlineMs = performance.now() + 20_000;
  while (waiting.length > 0) {
    const results = await publish(publisher, waiting);
    const failedKeys = new Set<string>();
    waiting = waiting.filter((row, index) => {
      const isBehind = row.key !== undefined && failedKeys.has(row.key);
      const isLeft = isBehind || results[index]?.status !== 'fulfilled';
      if (isLeft && row.key !== undefined) failedKeys.add(row.key);
      return isLeft;
    });
    if (performance.now() > deadlineMs) throw new Error(`${waiting.length} rows were not delivered`);
  }
}

export function statusesOf(results: readonly PublishResult[]): string[] {
  return results.map((result) => (result.status === 'fulfilled' ? 'stored' : String(nameOf(result.reason))));
}

/** The reason of a row that must have been rejected. */
export function reasonOf(result: PublishResult | undefined): Error {
  if (result?.status !== 'rejected') throw new Error('the row was not rejected');
  return result.reason as Error;
}

function nameOf(reason: unknown): string {
  return reason instanceof Error ? reason.name : typeof reason;
}

export function idsOf(rows: ReadonlyArray<{ readonly id: string }>): string[] {
  return rows.map(({ id }) => id);
}
