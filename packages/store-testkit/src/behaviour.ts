import type { OutboxEntry, OutboxRow, OutboxStore } from '@postcommit/core';
import { expect } from 'vitest';
import type { OutboxFixture } from './store-harness.js';

/** Fails by throwing. Behaviours are data, so that the suite itself can be tried on stores that are broken. */
export type Behaviour = (outbox: OutboxFixture) => Promise<void>;

/** Behaviours that belong together; each key is a sentence. */
export interface BehaviourGroup {
  readonly name: string;
  readonly behaviours: Readonly<Record<string, Behaviour>>;
}

export const CLAIM_TIMEOUT_MS = 60_000;

export function entry(overrides: Partial<OutboxEntry> = {}): OutboxEntry {
  return { topic: 'order.paid', payload: { id: 1 }, ...overrides };
}

/** `m1`, `m2`, … */
export function entries(count: number, overrides: Partial<OutboxEntry> = {}): OutboxEntry[] {
  return Array.from({ length: count }, (_, index) => entry({ id: `m${index + 1}`, ...overrides }));
}

export function idsOf(rows: readonly OutboxRow[]): string[] {
  return rows.map(({ id }) => id);
}

/** Claims and gives the token with the rows; fails when nothing was claimed. */
export async function claim(
  store: OutboxStore,
  limit = 100,
): Promise<{ token: string; rows: OutboxRow[]; ids: string[] }> {
  const rows = await store.fetchPending(limit);
  const token = rows[0]?.claimToken;
  if (token === undefined) throw new Error('nothing could be claimed');
  return { token, rows, ids: idsOf(rows) };
}

/** The row as it is stored; fails when there is none. */
export async function stored(store: OutboxStore, id: string): Promise<OutboxRow> {
  const rows = await store.peek({}, 10_000);
  const row = rows.find((candidate) => candidate.id === id);
  if (!row) throw new Error(`row ${id} is gone`);
  return row;
}

export async function expectError(promise: Promise<unknown>, code: string, message?: RegExp): Promise<void> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error, `expected a rejection with ${code}`).toMatchObject({ name: 'OutboxError', code });
  if (message) expect((error as Error).message).toMatch(message);
}
