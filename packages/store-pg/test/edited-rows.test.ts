import { OutboxWorker } from '@postcommit/core';
import { PgOutboxStore } from '@postcommit/store-pg';
import { expect, it } from 'vitest';
import { usePostgres } from '../../sql/test/postgres-fixture.js';

const fixture = usePostgres();

it.each([
  ['headers', '[1]'],
  ['backoff', '"soon"'],
])('a row whose %s were edited into nonsense is dead, and the worker goes on', async (column, value) => {
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
  const settled = new Promise((resolve) => worker.signals.on('batch', resolve));
  worker.start();
  expect(await settled).toMatchObject({ fetched: 2, dispatched: 1, dead: 1 });
  expect(await worker.stop()).toEqual([]);
  expect(published).toEqual(['whole']);
  const [dead] = await store.peek({ state: 'dead' }, 10);
  expect(dead).toMatchObject({ id: 'edited', deadReason: 'undecodable', attempts: 0 });
});
