import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { OutboxDispatcher } from '@postcommit/core';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../src/index.js';

/** The server plans a prepared statement anew for its first five runs, and may then keep a plan for good. */
const RUNS_UNTIL_A_PLAN_IS_KEPT = 10;
const DISPATCHED = 5_000;

/** Rows of the outbox that were read without an index, in all. */
const ROWS_READ = `select seq_tup_read::int as rows from pg_stat_user_tables where relname = 'outbox'`;

describe('a table that was empty when dispatching began, and has not been analysed since', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase();
    // One connection, so that its plans are those of every claim.
    pool = new pg.Pool({ connectionString: database.url, max: 1 });
    await new SqlOutboxSchema(pgExecutor(pool)).ensure();
    await pool.query('alter table outbox set (autovacuum_enabled = false)');
  });

  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  async function rowsRead(): Promise<number> {
    await pool.query('select pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ rows: number }>(ROWS_READ);
    return rows[0]?.rows ?? 0;
  }

  it.each([{ key: undefined }, { key: 'k' }])(
    'is not fully read by a dispatch (key $key)',
    async ({ key }) => {
      const store = new PgOutboxStore(pool, { wakeup: false });
      const dispatcher = new OutboxDispatcher(store, async () => {});
      const enqueue = () => store.enqueue({ topic: 't', payload: {}, ...(key !== undefined && { key }) });
      for (let run = 0; run < RUNS_UNTIL_A_PLAN_IS_KEPT; run++) {
        await enqueue();
        expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
      }
      await pool.query(
        `insert into outbox (id, topic, payload, dispatched_at)
       select 'd' || n, 't', '{}', now() from generate_series(1, ${DISPATCHED}) n`,
      );
      await enqueue();
      const before = await rowsRead();
      expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
      expect((await rowsRead()) - before).toBeLessThan(DISPATCHED);
      // Nor is anything left on the connection that a pooler would have to know of.
      const { rows } = await pool.query('select name from pg_prepared_statements');
      expect(rows).toEqual([]);
    },
  );
});
