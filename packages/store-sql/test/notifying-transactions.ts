import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import type { PostgresFixture } from './postgres-fixture.js';

/** A transaction that is rolled back when the test ends, unless it has ended before. */
export async function beginOn({ pool }: Pick<PostgresFixture, 'pool'>): Promise<pg.PoolClient> {
  const client = await pool.connect();
  onTestFinished(async () => {
    await client.query('rollback');
    client.release();
  });
  await client.query('begin');
  return client;
}

/** Transactions that will notify at their COMMIT, as many as may: of another process, for the tested one knows nothing of them. */
export async function fillPlaces(fixture: Pick<PostgresFixture, 'pool'>): Promise<pg.PoolClient[]> {
  const other = new PgOutboxStore(fixture.pool);
  const open: pg.PoolClient[] = [];
  for (let place = 0; place < 4; place++) {
    const tx = await beginOn(fixture);
    await other.enqueueWith(tx, { topic: 'order.paid', payload: {} });
    open.push(tx);
  }
  return open;
}
