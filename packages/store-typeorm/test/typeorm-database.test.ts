import { mysql, postgres, sqlite } from '@postcommit/store-sql';
import { TypeormOutboxStore, typeormDatabase } from '@postcommit/store-typeorm';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { describe, expect, it } from 'vitest';
import type { OutboxDataSourceType } from '../src/typeorm-database.js';

/** Nothing is opened: what the outbox needs to know is in the options. */
const sourceOf = (options: Pick<DataSourceOptions, 'type'> & { schema?: string }) =>
  ({ options }) as unknown as DataSource;

describe('the type of a data source', () => {
  const dialects: Record<OutboxDataSourceType, unknown> = {
    postgres,
    mysql,
    mariadb: mysql,
    sqljs: sqlite,
    'better-sqlite3': sqlite,
  };
  it.each(Object.entries(dialects))('%s has its dialect', (type, dialect) => {
    const { table } = typeormDatabase(sourceOf({ type: type as OutboxDataSourceType }), {
      table: 'messages',
    });
    expect(table).toEqual({ table: 'messages', dialect });
  });

  it('another type is rejected at once, with the supported ones', () => {
    expect(() => new TypeormOutboxStore(sourceOf({ type: 'oracle' }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(/'postgres', .*'sqljs', 'better-sqlite3', got 'oracle'/),
      }),
    );
  });
});

describe('the schema', () => {
  it('is the data source’s, unless another is set', () => {
    const source = sourceOf({ type: 'postgres', schema: 'tenant' });
    expect(typeormDatabase(source).table).toMatchObject({ schema: 'tenant' });
    expect(typeormDatabase(source, { schema: 'app' }).table).toMatchObject({ schema: 'app' });
  });

  it('is rejected if the database has none', () => {
    expect(() => typeormDatabase(sourceOf({ type: 'sqljs' }), { schema: 'app' })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(/no schemas/) }),
    );
  });
});

it.each([-1, Number.NaN])('a busy time-out of %d is rejected at once', (busyTimeoutMs) => {
  expect(() => typeormDatabase(sourceOf({ type: 'sqljs' }), { busyTimeoutMs })).toThrow(
    expect.objectContaining({ code: 'INVALID_CONFIG' }),
  );
});
