import type { OutboxEntry, OutboxRow, OutboxStore } from '@postcommit/core';
import { expect } from 'vitest';
import type { OutboxFixture } from './store-harness.js';

/** Throws if the store fails the behaviour. Behaviours are data, so the suite itself can be tested against broken stores. */
export type Behaviour = (outbox: OutboxFixture) => Promise<void>;

/** A group of behaviours. Each key is the sentence that names the test. */
export interface BehaviourGroup {
  readonly name: string;
  readonly behaviours: Readonly<Record<string, Behaviour>>;
}

export const CLAIM_TIMEOUT_MS = 60_000;

export function entry(overrides: Partial<OutboxEntry> = {}): OutboxEntry {
  return { topic: 'order.paid', payload: { id: 1 }, ...overrides };
}

/** Entries with the ids `m1`, `m2`, … */
export function entries(count: number, overrides: Partial<OutboxEntry> = {}): OutboxEntry[] {
  return Array.from({ length: count }, (_, index) => entry({ id: `m${index + 1}`, ...overrides }));
}

export function idsOf(rows: readonly OutboxRow[]): string[] {
  return rows.map(({ id }) => id);
}

/** Claims rows and returns them with their token. Throws if there is nothing to claim. */
export async function claim(
  store: OutboxStore,
  limit = 100,
): Promise<{ token: string; rows: OutboxRow[]; ids: string[] }> {
  const rows = await store.fetchPending(limit);
  const token = rows[0]?.claimToken;
  if (token === undefined) throw new Error('there was nothing to claim');
  return { token, rows, ids: idsOf(rows) };
}

/** Returns a stored row. Throws if there is none. */
export async function stored(store: OutboxStore, id: string): Promise<OutboxRow> {
  const rows = await store.peek({}, 10_000);
  const row = rows.find((candidate) => candidate.id === id);
  if (!row) throw new Error(`there is no row with id '${id}'`);
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
