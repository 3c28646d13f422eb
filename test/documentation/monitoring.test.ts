import { readFileSync } from 'node:fs';
import { PgOutboxStore } from '@postcommit/store-pg';
import { expect, it } from 'vitest';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
const page = readFileSync(new URL('../../docs/operations/monitoring.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql);

it('the SQL for operators does what it says', async () => {
  const store = new PgOutboxStore(fixture.pool);
  await store.enqueue([
    { id: 'waits', topic: 'order.created', payload: 1 },
    { id: 'later', topic: 'order.created', payload: 1, availableAt: new Date(Date.now() + 60_000) },
    { id: 'dead-1', topic: 'order.created', key: 'k', payload: 1 },
    { id: 'dead-2', topic: 'order.paid', payload: 1 },
    { id: 'done', topic: 'order.created', payload: 1 },
  ]);
  await store.markDead('dead-1', '502', { reason: 'permanent' });
  await store.markDead('dead-2', 'no');
  await store.markDispatched(['done']);
  const [waiting = '', inFlight = '', byTopic = '', latest = '', retry = ''] = blocks;
  expect(await fixture.query(waiting)).toMatchObject([{ pending: '2', due: '1' }]);
  await store.fetchPending(1);
  expect(await fixture.query(inFlight)).toMatchObject([{ id: 'waits' }]);
  expect(await fixture.query(byTopic)).toHaveLength(2);
  expect(await fixture.query(latest)).toMatchObject([{ id: 'dead-2' }, { id: 'dead-1' }]);
  await fixture.query(retry);
  expect((await store.fetchPending(10)).map(({ id }) => id)).toEqual(['dead-1']);
  expect(await store.count()).toMatchObject({ pending: 3, dead: 1, dispatched: 1 });
  expect(blocks, 'every statement was tried').toHaveLength(5);
});
