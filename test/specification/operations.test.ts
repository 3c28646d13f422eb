import { OutboxDispatcher } from '@postcommit/core';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { myapp } from './my-app.js';
import { useOrdersDatabase } from './orders-database.js';

const database = useOrdersDatabase();
let store: TypeormOutboxStore;

beforeEach(async () => {
  store = new TypeormOutboxStore(database.dataSource);
});

/** Four pending rows, five dispatched ones, and two that died of ten failures each. */
async function addRows(): Promise<void> {
  await store.enqueue(Array.from({ length: 5 }, () => ({ topic: 'order.paid', payload: {} })));
  await new OutboxDispatcher(store, async () => {}).dispatchPending();
  await store.enqueue(['abc123', 'abc124'].map((id) => ({ id, topic: 'order.refunded', payload: {} })));
  const failing = new OutboxDispatcher(store, () => Promise.reject(new Error('Stripe webhook 502')), {
    maxAttempts: 10,
  });
  for (let attempt = 0; attempt < 10; attempt++) await failing.dispatchPending();
  await store.enqueue(Array.from({ length: 4 }, () => ({ topic: 'order.paid', payload: {} })));
}

describe('the poison-message workflow', () => {
  it('goes from stats to list to retry, line for line', async () => {
    await addRows();
    const stats = await myapp(database.url, 'outbox:stats');
    expect(stats.stdout).toBe('outbox:stats pending=4 dispatched=5 dead=2 total=11\n');
    const list = await myapp(database.url, 'outbox:list --state dead');
    const lines = list.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines.find((line) => line.startsWith('abc123 '))).toMatch(
      /^abc123 state=dead topic=order\.refunded attempts=10 createdAt=\d{4}-\d\d-\d\dT[\d:.]+Z lastError="Stripe webhook 502"$/,
    );
    const retry = await myapp(database.url, 'outbox:retry abc123');
    expect(retry).toEqual({ code: 0, stdout: 'outbox:retry id=abc123 requeued\n', stderr: '' });
    const dispatch = await myapp(database.url, 'outbox:dispatch');
    expect(dispatch.stdout).toContain('fetched=5 dispatched=5');
  });
});

describe('the commands', () => {
  it('outbox:list reads without claiming, 20 rows by default', async () => {
    await store.enqueue(Array.from({ length: 25 }, () => ({ topic: 'order.paid', payload: {} })));
    const count = async (command: string): Promise<number> =>
      (await myapp(database.url, command)).stdout.trimEnd().split('\n').length;
    expect(await count('outbox:list')).toBe(20);
    expect(await count('outbox:list --state pending --limit 3')).toBe(3);
    expect((await myapp(database.url, 'outbox:list --state dispatched')).stdout).toBe('');
    expect(await store.fetchPending(50)).toHaveLength(25);
  });

  it('outbox:list rejects an unknown state', async () => {
    expect(await myapp(database.url, 'outbox:list --state lost')).toMatchObject({ code: 2, stdout: '' });
  });

  it('outbox:retry clears times, claim and attempts', async () => {
    await store.enqueue([{ id: 'abc123', topic: 'order.paid', payload: {} }]);
    const states = {
      failed: () => store.markFailed('abc123', 'timeout'),
      claimed: () => store.fetchPending(1),
      dispatched: () => store.markDispatched(['abc123']),
      dead: () => store.markDead('abc123', 'poison'),
    };
    for (const reach of [states.failed, states.claimed, states.dispatched, states.dead]) {
      await reach();
      await myapp(database.url, 'outbox:retry abc123');
      expect(
        await database.query('select dispatched_at, dead_at, claimed_at, claim_token, attempts from outbox'),
      ).toEqual([{ dispatched_at: null, dead_at: null, claimed_at: null, claim_token: null, attempts: 0 }]);
    }
  });

  it('outbox:retry of an unknown id fails', async () => {
    const { code, stdout, stderr } = await myapp(database.url, 'outbox:retry nobody');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^outbox:retry: .*nobody.*\n$/);
  });
});

it('the same operations are available in code', async () => {
  await addRows();
  expect(await store.count()).toEqual({ pending: 4, dispatched: 5, dead: 2, total: 11 });
  expect(await store.peek({ state: 'dead' }, 1)).toHaveLength(1);
  await store.requeue('abc123');
  await store.markDead('abc123', 'given up by hand');
  expect((await store.peek({ state: 'dead' }, 20)).map(({ lastError }) => lastError)).toContain(
    'given up by hand',
  );
  expect(await store.purgeDispatched(new Date(Date.now() + 60_000))).toBe(5);
  expect(await store.count()).toEqual({ pending: 4, dispatched: 0, dead: 2, total: 6 });
});
