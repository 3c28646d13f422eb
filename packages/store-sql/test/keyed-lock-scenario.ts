import type { OutboxStore } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { expect } from 'vitest';

/** Another session, which takes the lock of keyed claims and ends its transaction. */
export interface LockHolder {
  hold(): Promise<unknown>;
  release(): Promise<unknown>;
}

/** Takes the advisory lock of keyed claims in a transaction. */
export const HOLD_ON_POSTGRES = `begin; select pg_advisory_xact_lock(1886352244, 'outbox'::regclass::oid::int)`;

/**
 * While another session holds the lock, rows without a key go on; those with one follow its release; and it is reported
 * once. Whatever the driver makes of the error that ends the wait.
 */
export async function expectToGoOnBesideLock(
  open: (clock: VirtualClock) => OutboxStore,
  other: LockHolder,
): Promise<void> {
  const clock = new VirtualClock();
  const store = open(clock);
  const problems: unknown[] = [];
  store.onProblem((error) => problems.push(error));
  const ids = async (): Promise<string[]> => (await store.fetchPending(10)).map(({ id }) => id);
  const tryFor = async (ms: number): Promise<string[]> => {
    const found: string[] = [];
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.advance(500);
      found.push(...(await ids()));
    }
    return found;
  };
  // On MySQL the first keyed claim makes the lock row.
  await store.enqueue({ id: 'first', topic: 't', payload: 1, key: 'k' });
  expect(await ids()).toEqual(['first']);

  await other.hold();
  await store.enqueue([
    { id: 'keyed', topic: 't', payload: 1, key: 'l' },
    { id: 'free', topic: 't', payload: 1 },
  ]);
  expect([...(await ids()), ...(await ids())]).toEqual(['free']);
  expect(await tryFor(10_000)).toEqual([]);
  expect(problems).toEqual([]);
  await tryFor(40_000);
  expect(problems).toMatchObject([{ code: 'KEYED_CLAIMS_BLOCKED' }]);
  await other.release();
  expect(await tryFor(5_000)).toEqual(['keyed']);
  expect(problems).toHaveLength(1);
}
