import type { HeldLock } from '@postcommit/core/internal';
import { SqlJobLock, SqlOutboxSchema, sqlite } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { SqlProcessedMessages } from '../src/capabilities/sql-processed-messages.js';
import { SqliteDatabase } from './sqlite-database.js';

const TTL_MS = 60_000;
let database: SqliteDatabase;

beforeEach(async () => {
  database = await SqliteDatabase.open();
  await new SqlOutboxSchema(database.executor, { dialect: sqlite }).ensure();
});
afterEach(() => database.close());

const newLock = (): SqlJobLock => new SqlJobLock(database.executor, { dialect: sqlite });

async function acquired(name = 'job'): Promise<HeldLock> {
  const held = await newLock().acquire(name, TTL_MS);
  if (!held) throw new Error(`the lock ${name} is not free`);
  return held;
}

function expire(): void {
  database.query('update outbox_locks set locked_until = locked_until - ?', TTL_MS);
}

describe('SqlJobLock', () => {
  it('of several concurrent instances, one acquires the lock', async () => {
    const held = await Promise.all(Array.from({ length: 8 }, () => newLock().acquire('job', TTL_MS)));
    expect(held.filter((each) => each !== undefined)).toHaveLength(1);
    await acquired('another');
  });

  it('expires by the database’s clock, and is extended by a renewal', async () => {
    const held = await acquired();
    expire();
    expect(await held.renew(TTL_MS), 'expired, but nobody took it').toBe(true);
    expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
    expire();
    await acquired();
  });

  it('can be neither renewed nor released by an instance that lost it', async () => {
    const loser = await acquired();
    expire();
    const winner = await acquired();
    expect(await loser.renew(TTL_MS)).toBe(false);
    await loser.release();
    expect(await newLock().acquire('job', TTL_MS)).toBeUndefined();
    await winner.release();
    await acquired();
  });
});

describe('SqlProcessedMessages', () => {
  const MESSAGES = 2_500;

  it('purges in pages', async () => {
    const processed = new SqlProcessedMessages(database.executor, { dialect: sqlite });
    database.query(
      `insert into outbox_processed (consumer, row_id, processed_at)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       select 'mailer', 'm' || i, 1 from n`,
      MESSAGES,
    );
    database.query(`insert into outbox_processed (consumer, row_id) values ('mailer', 'young')`);
    expect(await processed.purge({ ageMs: TTL_MS })).toBe(MESSAGES);
    expect(database.query('select row_id from outbox_processed')).toEqual([{ row_id: 'young' }]);
  });
});

it('there are no other transactions that could silently block the outbox', async () => {
  const diagnostics = new SqlDiagnostics(database.executor, { dialect: sqlite });
  expect(await diagnostics.find({ transactionAgeMs: 1 })).toEqual([]);
});
