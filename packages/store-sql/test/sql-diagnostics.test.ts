import { expect, it } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();

it('a transaction that holds back vacuum is reported with the statement that ends it', async () => {
  const client = await fixture.pool.connect();
  try {
    await client.query('begin isolation level repeatable read');
    const [session] = (
      await client.query('select pg_backend_pid()::text as pid from outbox right join (select 1) o on true')
    ).rows;
    const diagnostics = new SqlDiagnostics(pgExecutor(fixture.pool));
    expect(await diagnostics.find({ transactionAgeMs: 3_600_000 }), 'younger than the limit').toEqual([]);
    expect(await diagnostics.find({ transactionAgeMs: 0 })).toEqual([
      {
        level: 'tuning',
        problem: expect.stringMatching(
          `^the transaction of session ${session.pid} has been open for \\d+ s and holds back vacuum$`,
        ),
        fix: `select pg_terminate_backend(${session.pid});`,
      },
    ]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

it('so is a prepared transaction, which outlives its session', async () => {
  // Most servers allow none, so that the answer is ours.
  const record = { kind: 'prepared', name: "o'brien", age_ms: 61_400 };
  const diagnostics = new SqlDiagnostics(async (work) =>
    typeof work !== 'function' && work.text.includes('pg_prepared_xacts') ? [record] : [],
  );
  expect(await diagnostics.find({ transactionAgeMs: 60_000 })).toEqual([
    {
      level: 'tuning',
      problem: "the prepared transaction 'o''brien' has been open for 61 s and holds back vacuum",
      fix: "rollback prepared 'o''brien';",
    },
  ]);
});
