import { PgOutboxStore, type PgPoolClientLike, type PgPoolLike } from '@postcommit/store-pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../sql/test/postgres-fixture.js';

const fixture = usePostgres();

beforeEach(async () => {
  await fixture.query('truncate outbox');
});

async function drain(store: PgOutboxStore): Promise<string[]> {
  const ids: string[] = [];
  for (let rows = await store.fetchPending(2); rows.length > 0; rows = await store.fetchPending(2)) {
    ids.push(
      ...(await store.markDispatched(
        rows.map(({ id }) => id),
        rows[0]?.claimToken,
      )),
    );
  }
  return ids.sort();
}

describe('claims and settles', () => {
  it('are prepared once on a connection', async () => {
    const client = await fixture.pool.connect();
    try {
      const store = new PgOutboxStore({
        query: (query) => client.query(query),
        connect: () => fixture.pool.connect(),
      });
      await store.enqueue([1, 2, 3, 4, 5].map((n) => ({ id: `m${n}`, topic: 'order.paid', payload: n })));
      expect(await drain(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
      const { rows } = await client.query('select count(*)::int as prepared from pg_prepared_statements');
      expect(rows).toEqual([{ prepared: 2 }]);
    } finally {
      client.release(true);
    }
  });

  it('go on unprepared behind a pooler that forgets them between two transactions', async () => {
    const forgetful = await forgetfulPool();
    try {
      const store = new PgOutboxStore(forgetful.pool);
      await store.enqueue([1, 2, 3, 4, 5].map((n) => ({ id: `m${n}`, topic: 'order.paid', payload: n })));
      await store.enqueue(
        [6, 7, 8].map((n) => ({ id: `m${n}`, topic: 'order.paid', payload: n, key: `k${n}` })),
      );
      expect(await drain(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8']);
      expect(forgetful.forgotten(), 'the pooler did its worst').toBeGreaterThan(0);
    } finally {
      forgetful.close();
    }
  });
});

/** One connection whose prepared statements are gone after each query, as behind a transaction pooler. */
async function forgetfulPool(): Promise<{ pool: PgPoolLike; forgotten(): number; close(): void }> {
  const client = await fixture.pool.connect();
  let forgotten = 0;
  const query: PgPoolClientLike['query'] = async (one) => {
    const result = await client.query<Record<string, unknown>>(one);
    if (typeof one !== 'string' && one.name !== undefined) {
      await client.query('deallocate all');
      forgotten += 1;
    }
    return result;
  };
  const lent: PgPoolClientLike = {
    query,
    release: () => {},
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
  };
  return {
    pool: { query, connect: async () => lent },
    forgotten: () => forgotten,
    close: () => client.release(true),
  };
}
