import type { SqlRecord, SqlSteps, SqlWork } from '@postcommit/store-sql';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { typeormExecutor } from '../src/typeorm-executor.js';

const fixture = usePostgres((postgres) => postgres.query('create table numbers (n int)').then(() => {}));
let dataSource: DataSource;

beforeAll(async () => {
  // One connection, so that one which is lost or left in a transaction shows.
  dataSource = new DataSource({
    type: 'postgres',
    url: fixture.url,
    poolSize: 1,
    extra: { options: '-c default_transaction_isolation=serializable' },
  });
  await dataSource.initialize();
});
afterAll(() => dataSource.destroy());
beforeEach(async () => {
  await fixture.query('truncate numbers');
});

function run(...texts: string[]): Promise<unknown> {
  return typeormExecutor(dataSource)(workOf(texts));
}

// biome-ignore lint/correctness/useYield: work may have nothing to do.
function* noSteps(): SqlSteps {
  return [];
}

function workOf([only = '', ...more]: string[]): SqlWork {
  if (more.length === 0) return { text: only, values: [] };
  return function* () {
    let records: readonly SqlRecord[] = [];
    for (const text of [only, ...more]) records = yield { text, values: [] };
    return records;
  };
}

describe('typeormExecutor', () => {
  it.each([
    ['select', 'select 1 as n'],
    ['insert', 'insert into numbers values (1) returning n'],
    ['update', 'update numbers set n = n + 1 returning n'],
    ['delete', 'delete from numbers returning n'],
    ['with', 'with gone as (delete from numbers returning n) select n from gone'],
    ['with … update', 'with one as (select 1) update numbers set n = 1 from one returning n'],
  ])('returns the records of %s in one shape', async (_name, text) => {
    await fixture.query('insert into numbers values (0)');
    expect(await run(text)).toEqual([{ n: expect.any(Number) }]);
  });

  it('returns no records if there are none', async () => {
    expect(await run('delete from numbers')).toEqual([]);
    expect(await run('create table if not exists numbers (n int)')).toEqual([]);
    expect(await typeormExecutor(dataSource)(noSteps)).toEqual([]);
  });

  it('runs several statements in one READ COMMITTED transaction and returns the records of the last', async () => {
    const records = await run(
      'insert into numbers values (1)',
      "select current_setting('transaction_isolation') as level, count(*)::int as rows from numbers",
    );
    expect(records).toEqual([{ level: 'read committed', rows: 1 }]);
    expect(await fixture.query('select n from numbers')).toEqual([{ n: 1 }]);
  });

  it('rolls back all of several statements if one fails, and the connection can be used again', async () => {
    await expect(run('insert into numbers values (1)', 'select 1 / 0')).rejects.toMatchObject({
      code: '22012',
    });
    expect(await run('select n from numbers')).toEqual([]);
  });

  it('a connection that can’t roll back is not used again', async () => {
    await expect(run('select 1', 'select pg_terminate_backend(pg_backend_pid())')).rejects.toThrow();
    expect(await run('select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('a connection that can’t roll back is closed', async () => {
    const ended = { count: 0 };
    const broken = {
      createQueryRunner: () => ({
        query: async () => {
          throw new Error('no answer');
        },
        connect: async () => ({
          end: async () => {
            ended.count++;
          },
        }),
        release: async () => {},
      }),
    } as unknown as DataSource;
    await expect(typeormExecutor(broken)(workOf(['select 1', 'select 1']))).rejects.toThrow('no answer');
    expect(ended.count).toBe(1);
  });
});
