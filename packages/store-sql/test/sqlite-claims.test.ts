import { runWorkAtOnce, type SqlRecord, type SqlWork, sqlite, TableName } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyedClaim } from '../src/dialect.js';
import { claimedIds, claimOf, newRow } from './sql-session.js';
import { SqliteDatabase } from './sqlite-database.js';

const TABLE = new TableName();
let database: SqliteDatabase;

beforeEach(async () => {
  database = await SqliteDatabase.open();
  for (const text of sqlite.schema.create(TABLE)) database.query(text);
});
afterEach(() => database.close());

const run = (work: SqlWork): SqlRecord[] => runWorkAtOnce(work, (statement) => database.run(statement));

const insert = (...rows: ReturnType<typeof newRow>[]): void => void run(sqlite.insert(TABLE, rows));

const claimKeyed = (options: Partial<KeyedClaim> = {}): SqlRecord[] =>
  run(sqlite.claimKeyed(TABLE, claimOf(options)));

function expireClaims(): void {
  database.query('update outbox set claimed_until = 1 where claimed_until is not null');
}

describe('a claim of keyed rows', () => {
  it('takes a row with an expired claim alone, whatever else is due', () => {
    insert(newRow('a1', 'a'), newRow('a2', 'a'));
    claimKeyed({ limit: 1 });
    expireClaims();
    insert(newRow('b1', 'b'), newRow('c1', 'c'));
    const claimed = claimKeyed();
    expect(claimedIds(claimed)).toEqual(['a1']);
    expect(claimed).toMatchObject([{ retakes: 1 }]);
    expect(claimedIds(claimKeyed())).toEqual(['b1', 'c1']);
  });

  it('leaves it, and its key, if the batch already has rows', () => {
    insert(newRow('a1', 'a'), newRow('a2', 'a'));
    claimKeyed({ limit: 1 });
    expireClaims();
    insert(newRow('b1', 'b'));
    expect(claimedIds(claimKeyed({ mayRetake: false }))).toEqual(['b1']);
  });

  it('takes no more than its share of one key', () => {
    insert(...[1, 2, 3, 4, 5].map((n) => newRow(`a${n}`, 'a')), newRow('b1', 'b'));
    expect(claimedIds(claimKeyed({ perKey: 2 }))).toEqual(['a1', 'a2', 'b1']);
  });

  it('continues with further keys until the batch is full', () => {
    const keys = (prefix: string, count: number): string[] =>
      Array.from({ length: count }, (_, n) => `${prefix}${n}`);
    insert(...keys('held', 100).flatMap((key) => [newRow(`${key}-head`, key), newRow(`${key}-next`, key)]));
    // The followers are due, but wait for their heads.
    database.query(`update outbox set available_at = available_at + 1000000 where id like '%-head'`);
    insert(...keys('free', 20).map((key) => newRow(key, key)));
    expect(claimedIds(claimKeyed({ limit: 15 }))).toEqual(keys('free', 15));
  });

  it('reports where it ended, even if all was blocked, and skips rows in flight', () => {
    insert(newRow('a1', 'a'), newRow('a2', 'a'), newRow('a3', 'a'), newRow('a4', 'a'));
    claimKeyed({ limit: 1 });
    const [record] = claimKeyed({ window: 2 });
    expect(record).toMatchObject({ id: null, window_rows: 2, last_seq: 3 });
    const after = { availableAt: String(record?.last_available_at), seq: String(record?.last_seq) };
    expect(claimKeyed({ window: 2, after })).toMatchObject([{ id: null, window_rows: 1, last_seq: 4 }]);
  });
});

describe('seq', () => {
  const order = (): unknown[] => database.query('select id from outbox order by seq').map(({ id }) => id);

  it('of a requeued row is behind all others, and before the next insert', () => {
    insert(newRow('a'), newRow('b'));
    run(sqlite.settleDispatched(TABLE, undefined, ['a']));
    run(sqlite.requeue(TABLE, 'a'));
    insert(newRow('c'));
    expect(order()).toEqual(['b', 'a', 'c']);
  });

  it('of a pending row is kept, whatever the filter', () => {
    insert(newRow('a'), newRow('b'));
    run(sqlite.requeue(TABLE, 'a'));
    run(sqlite.requeueWhere(TABLE, { state: 'pending' }, 10));
    expect(order()).toEqual(['a', 'b']);
  });

  it('is not reused after the last row is deleted', () => {
    insert(newRow('a'), newRow('b'));
    database.query(`delete from outbox where id = 'b'`);
    insert(newRow('c'));
    expect(database.query('select id, seq from outbox order by seq')).toEqual([
      { id: 'a', seq: 1 },
      { id: 'c', seq: 3 },
    ]);
  });
});
