import { OutboxWorker } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import { expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';

const fixture = usePostgres();

it.each([
  ['headers', '[1]'],
  ['backoff', '"soon"'],
])('a row whose %s were edited into invalid values dies, and the worker continues', async (column, value) => {
  await fixture.query('truncate outbox');
  const store = new PgOutboxStore(fixture.pool);
  await store.enqueue([
    { id: 'edited', topic: 'order.paid', payload: 1 },
    { id: 'whole', topic: 'order.paid', payload: 2 },
  ]);
  await fixture.query(`update outbox set ${column} = $1 where id = 'edited'`, [value]);
  const published: string[] = [];
  const worker = new OutboxWorker(store, async ({ id }) => {
    published.push(id);
  });
  const settled = new Promise((resolve) => worker.events.on('batch', resolve));
  worker.start();
  expect(await settled).toMatchObject({ fetched: 2, dispatched: 1, dead: 1 });
  expect(await worker.stop()).toEqual([]);
  expect(published).toEqual(['whole']);
  const [dead] = await store.peek({ state: 'dead' }, 10);
  expect(dead).toMatchObject({ id: 'edited', deadReason: 'undecodable', attempts: 0 });
});

it.each([
  ['is due since for ever', "available_at = '-infinity'", 'k'],
  ['was stored before time began', "created_at = '-infinity'", undefined],
  [
    'was retaken as often as a number can say',
    "retakes = 2147483647, claim_token = 't', claimed_at = now(), claimed_until = now() - interval '1 minute'",
    undefined,
  ],
])('a row that %s does not prevent others from being claimed', async (_, edit, key) => {
  await fixture.query('truncate outbox');
  const store = new PgOutboxStore(fixture.pool);
  await store.enqueue([
    { id: 'edited', topic: 'order.paid', payload: 1, ...(key !== undefined && { key }) },
    { id: 'whole', topic: 'order.paid', payload: 2 },
  ]);
  await fixture.query(`update outbox set ${edit} where id = 'edited'`);
  const claimed = [...(await store.fetchPending(10)), ...(await store.fetchPending(10))];
  expect(claimed.map(({ id }) => id).sort()).toEqual(['edited', 'whole']);
});

it('a row with the maximum number of attempts does not prevent others from being settled', async () => {
  await fixture.query('truncate outbox');
  const store = new PgOutboxStore(fixture.pool);
  await store.enqueue([
    { id: 'edited', topic: 'order.paid', payload: 1 },
    { id: 'whole', topic: 'order.paid', payload: 2 },
  ]);
  await fixture.query(`update outbox set attempts = 2147483647 where id = 'edited'`);
  const rows = await store.fetchPending(10);
  const outcomes = rows.map(({ id }) => ({ id, kind: 'failed' as const, error: 'no', delayMs: 0 }));
  const settled = await store.settle(String(rows[0]?.claimToken), outcomes);
  expect(settled.sort()).toEqual(['edited', 'whole']);
  const stored = await store.peek({}, 10);
  expect(stored.map(({ id, attempts }) => [id, attempts]).sort()).toEqual([
    ['edited', 2_147_483_647],
    ['whole', 1],
  ]);
});
