import { readFileSync } from 'node:fs';
import { PgOutboxStore } from '@postcommit/store-pg';
import { expect, it } from 'vitest';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';

const fixture = usePostgres();
const page = readFileSync(new URL('../../docs/operations/replication.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql);

it('after the clock was set back, the SQL releases the rows that were due and no others', async () => {
  const store = new PgOutboxStore(fixture.pool);
  await store.enqueue([
    { id: 'failed', topic: 't', payload: 1 },
    { id: 'first', topic: 't', key: 'k', payload: 1 },
    { id: 'second', topic: 't', key: 'k', payload: 1 },
    { id: 'scheduled', topic: 't', payload: 1, availableAt: new Date(Date.now() + 60_000) },
  ]);
  await store.enqueue({ id: 'alone', topic: 't', payload: 1 });
  await store.enqueue(['dispatched', 'dead'].map((id) => ({ id, topic: 't', payload: 1 })));
  await store.markDispatched(['dispatched']);
  await store.markDead('dead', 'gone');
  await fixture.query(
    `update outbox set available_at = available_at + interval '1 minute' where id = 'failed'`,
  );
  // To the rows, a clock that goes back an hour looks as if they came from an hour ahead.
  await fixture.query(
    `update outbox set created_at = created_at + interval '1 hour', available_at = available_at + interval '1 hour'`,
  );
  expect(await store.fetchPending(10)).toEqual([]);
  expect(blocks).toHaveLength(1);
  const ended = (): Promise<unknown> =>
    fixture.query(`select * from outbox where id in ('dispatched', 'dead') order by id`);
  const before = await ended();
  await fixture.query(blocks[0] ?? '');
  expect(await ended()).toEqual(before);
  const due = [...(await store.fetchPending(10)), ...(await store.fetchPending(10))];
  expect(due.map(({ id }) => id).sort()).toEqual(['alone', 'first', 'second']);
  expect(due.findIndex(({ id }) => id === 'first')).toBeLessThan(due.findIndex(({ id }) => id === 'second'));
});
