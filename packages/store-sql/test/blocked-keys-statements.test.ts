import { runWorkAtOnce, type SqlRecord, type SqlWork, sqlite } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyedClaim, SqlDialect } from '../src/dialect.js';
import type { TableName } from '../src/table-name.js';
import { claimedIds, claimOf, newRow, type SqlSession, TABLE } from './sql-session.js';
import { SqliteDatabase } from './sqlite-database.js';
import { describeOnDatabases } from './test-databases.js';

/** Behind all rows. */
const IN_THE_FUTURE = { availableAt: '4000000000000000', seq: '1' };

interface Database {
  readonly dialect: SqlDialect;
  readonly table: TableName;
  run(work: SqlWork): Promise<SqlRecord[]>;
}

/** What a dialect must tell a search about keys that are blocked. */
function keyedClaims(open: () => Database): void {
  const claim = (options: Partial<KeyedClaim> = {}): Promise<SqlRecord[]> => {
    const { dialect, table, run } = open();
    return run(dialect.claimKeyed(table, claimOf({ perKey: 10, ...options })));
  };
  const insert = async (...ids: string[]): Promise<void> => {
    const { dialect, table, run } = open();
    await run(
      dialect.insert(
        table,
        ids.map((id) => newRow(id, id.slice(0, 1))),
      ),
    );
  };
  const keysIn = (json: unknown): string[] => (json == null ? [] : JSON.parse(String(json)).sort());
  const blockedBy = async (options: Partial<KeyedClaim>): Promise<unknown> => {
    const [first] = await claim(options);
    return {
      id: first?.id,
      rows: Number(first?.window_rows),
      blocked: keysIn(first?.blocked_keys),
      empty: keysIn(first?.empty_keys),
    };
  };

  it('a full window without a claimable row returns its keys, and all that are claimed', async () => {
    await insert('a1', 'b1', 'c1');
    expect(claimedIds(await claim())).toEqual(['a1', 'b1', 'c1']);
    await insert('a2', 'b2');
    expect(await blockedBy({ window: 1 })).toEqual({
      id: null,
      rows: 1,
      blocked: ['a', 'b', 'c'],
      empty: [],
    });
    expect(await blockedBy({ window: 3 })).toEqual({ id: null, rows: 2, blocked: [], empty: [] });
  });

  it('a parked key is looked up wherever its rows are, once, and in order', async () => {
    await insert('a1', 'a2', 'b1');
    const after = IN_THE_FUTURE;
    expect(claimedIds(await claim({ after }))).toEqual([]);
    expect(claimedIds(await claim({ after, parked: ['a', 'c'] }))).toEqual(['a1', 'a2']);
    expect(claimedIds(await claim({ parked: ['b'] }))).toEqual(['b1']);
  });

  it('those without a pending row are returned', async () => {
    await insert('a1', 'b1');
    expect(claimedIds(await claim({ limit: 1, perKey: 1 }))).toEqual(['a1']);
    const after = IN_THE_FUTURE;
    expect(claimedIds(await claim({ after, parked: ['b'] }))).toEqual(['b1']);
    expect(await blockedBy({ parked: ['a', 'b', 'c', '"d'] })).toMatchObject({
      id: null,
      empty: ['"d', 'c'],
    });
  });

  it('the keys of pending rows are found in their order, each once', async () => {
    await insert('b1', 'a1', 'b2', 'c1', 'b3');
    const { dialect, table, run } = open();
    const keys = async (after: string | undefined, limit: number): Promise<unknown[]> =>
      (await run(dialect.pendingKeys(table, after, limit))).map(({ key }) => key);
    expect(await keys(undefined, 500)).toEqual(['a', 'b', 'c']);
    expect(await keys(undefined, 2)).toEqual(['a', 'b']);
    expect(await keys('a', 500)).toEqual(['b', 'c']);
    expect(await keys('c', 500)).toEqual([]);
  });
}

describeOnDatabases((fixture) => {
  let session: SqlSession;
  beforeEach(async () => {
    await fixture.clear();
    session = await fixture.connect();
  });
  afterEach(() => session.end());

  const { dialect, table } = fixture;
  keyedClaims(() => ({ dialect, table, run: (work) => session.run(work) }));
});

describe('on SQLite', () => {
  let database: SqliteDatabase;
  beforeEach(async () => {
    database = await SqliteDatabase.open();
    for (const text of sqlite.schema.create(TABLE)) database.query(text);
  });
  afterEach(() => database.close());

  const run = async (work: SqlWork): Promise<SqlRecord[]> =>
    runWorkAtOnce(work, (statement) => database.run(statement));
  keyedClaims(() => ({ dialect: sqlite, table: TABLE, run }));
});
