import type { OutboxRow } from '@postcommit/core';
import { createUuidv7 } from '@postcommit/core/internal';

const nextId = createUuidv7();

/** What a test says about a row. */
export type RowFields = Partial<
  Pick<OutboxRow, 'id' | 'topic' | 'key' | 'payload' | 'headers' | 'createdAt' | 'attempts'>
>;

/** A row as the engine passes it to a publisher. */
export function testRow(topic: string, fields: RowFields = {}): OutboxRow {
  const createdAt = new Date('2026-03-29T01:02:03.456Z');
  return {
    id: nextId(),
    topic,
    payload: { amount: 12 },
    headers: {},
    createdAt,
    availableAt: createdAt,
    attempts: 0,
    retakes: 0,
    claimToken: 'claim-1',
    retry: {},
    ...fields,
  };
}

/** The body of a row without an encoder. */
export function jsonOf(row: OutboxRow): string {
  return JSON.stringify(row.payload);
}

export function idsOf(messages: ReadonlyArray<{ readonly id: string }>): string[] {
  return messages.map(({ id }) => id);
}
