import { type OutboxApp, OutboxStore, OutboxWakeup } from '@postcommit/core';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { PostgresFixture } from './postgres-fixture.js';
import { WakeupRecord } from './wakeup-record.js';

/** An application whose store module is given `listenClient`: it listens on that connection, and claims there. */
export async function expectClaimsOnListener(
  { url, clear }: PostgresFixture,
  start: (listenClient: () => pg.Client) => Promise<OutboxApp>,
): Promise<void> {
  await clear();
  const client = new pg.Client({ connectionString: url });
  const app = await start(() => client);
  const store = app.get(OutboxStore);
  const record = new WakeupRecord();
  onTestFinished(app.get(OutboxWakeup).subscribe(record));
  expect(await record.next(2)).toEqual(['listening', 'hint']);
  await store.enqueue({ id: 'claimed', topic: 'order.paid', payload: { amount: 1.5 }, headers: { h: 'x' } });
  const [row] = await store.fetchPending(1);
  expect(row).toMatchObject({ id: 'claimed', payload: { amount: 1.5 }, headers: { h: 'x' }, attempts: 0 });
  const { rows } = await client.query('select generic_plans::int as runs from pg_prepared_statements');
  expect(rows).toEqual([{ runs: 1 }]);
  expect(await store.markDispatched(['claimed'], row?.claimToken)).toEqual(['claimed']);
}
