import type { SqlRecord, SqlStatement } from '@postcommit/store-sql';
import { PrismaPg } from '@prisma/adapter-pg';
import { describe, expect, it, vi } from 'vitest';
import type { SqlSteps } from '../../store-sql/src/sql-statement.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { prismaExecutor } from '../src/prisma-executor.js';
import { PrismaClient } from './gen/client.js';
import { openTransaction, usePrisma } from './prisma-stores.js';

const fixture = usePostgres(async ({ query }) => {
  await query('create table notes (id int primary key)');
});
const prisma = usePrisma(fixture);

function sql(text: string, ...values: unknown[]): SqlStatement {
  return { text, values };
}

function steps(...statements: SqlStatement[]): () => SqlSteps {
  return function* () {
    let records: readonly SqlRecord[] = [];
    for (const statement of statements) records = yield statement;
    return records;
  };
}

describe('prismaExecutor', () => {
  it.each([
    ['$1::varchar[]', ['a', `"b", \\ 'c' {}`, '', 'ü€𝄞']],
    ['$1::varchar[]', []],
    ['$1::float8', 0.1],
    ['$1::float8', 3e15],
    ['$1::int', 2_147_483_647],
    ['$1::boolean', false],
    ['$1::varchar', null],
    ['$1::varchar', '2030-01-01T00:00:00.000Z'],
    ["to_char($1::timestamptz at time zone 'UTC', 'YYYY-MM-DD')", '2030-01-01T00:00:00.000Z', '2030-01-01'],
    ['$1::bigint::text', '9007199254740993'],
    ["$1::json->>'a'", '{"a":"1"}', '1'],
  ])('passes a value as %s: %j', async (expression, value, expected: unknown = value) => {
    const records = await prismaExecutor(prisma.client)(sql(`select ${expression} as value`, value));
    expect(records).toEqual([{ value: expected }]);
  });

  it('runs statements without a result, on the client, in steps and in a transaction', async () => {
    const executor = prismaExecutor(prisma.client);
    expect(await executor(steps())).toEqual([]);
    expect(await executor(sql('create table made (id int)'))).toEqual([]);
    const change = steps(sql('alter table made add column name text'), sql("comment on table made is 'x'"));
    expect(await executor(change)).toEqual([]);
    const { tx, commit } = await openTransaction(prisma.client);
    expect(await executor(sql('insert into made values ($1::int)', 1), tx)).toEqual([]);
    await commit();
    const named = steps(sql('update made set name = $1', 'y'), sql('select * from made'));
    expect(await executor(named)).toEqual([{ id: 1, name: 'y' }]);
  });

  it('runs several statements as all or none', async () => {
    const insert = sql('insert into notes values (1)');
    await expect(prismaExecutor(prisma.client)(steps(insert, insert))).rejects.toThrow('duplicate key');
    expect(await fixture.query('select id from notes')).toEqual([]);
  });

  it('runs several statements as READ COMMITTED and without the time limit of the client', async () => {
    const client = new PrismaClient({
      adapter: new PrismaPg({ connectionString: fixture.url }),
      transactionOptions: { isolationLevel: 'Serializable', timeout: 1, maxWait: 1 },
    });
    const transaction = vi.spyOn(client, '$transaction');
    const records = await prismaExecutor(client)(
      steps(sql('select 1 as one'), sql("select current_setting('transaction_isolation') as level")),
    );
    await client.$disconnect();
    expect(records).toEqual([{ level: 'read committed' }]);
    const [, options] = transaction.mock.calls[0] ?? [];
    expect(options?.timeout).toBeGreaterThan(60_000);
  });
});
