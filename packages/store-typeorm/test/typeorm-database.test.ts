import { composeModules, type Module } from '@postcommit/core';
import { mysql, postgres, sqlite } from '@postcommit/store-sql';
import {
  type OutboxDataSourceType,
  OutboxTypeormModule,
  TypeormOutboxStore,
  typeormDatabase,
} from '@postcommit/store-typeorm';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { describe, expect, it } from 'vitest';

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

  it('another is refused at once, with those that work', () => {
    expect(() => new TypeormOutboxStore(sourceOf({ type: 'oracle' }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(/'postgres', .*'sqljs', 'better-sqlite3'; got 'oracle'/),
      }),
    );
  });
});

describe('the schema', () => {
  it('is the data source’s, unless another is named', () => {
    const source = sourceOf({ type: 'postgres', schema: 'tenant' });
    expect(typeormDatabase(source).table).toMatchObject({ schema: 'tenant' });
    expect(typeormDatabase(source, { schema: 'app' }).table).toMatchObject({ schema: 'app' });
  });

  it('is refused where there are none', () => {
    expect(() => typeormDatabase(sourceOf({ type: 'sqljs' }), { schema: 'app' })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(/no schemas/) }),
    );
  });
});

it.each([-1, Number.NaN])('a busy time-out of %d is refused at once', (busyTimeoutMs) => {
  expect(() => typeormDatabase(sourceOf({ type: 'sqljs' }), { busyTimeoutMs })).toThrow(
    expect.objectContaining({ code: 'INVALID_CONFIG' }),
  );
});

describe('what is not a data source is refused, with what to pass', () => {
  const refusal = expect.objectContaining({
    code: 'INVALID_CONFIG',
    message: expect.stringContaining('pass dataSource: new DataSource({ … })'),
  });

  it.each([undefined, null, 'postgres://localhost/x', { type: 'postgres' }])('%j', (given) => {
    const dataSource = given as unknown as DataSource;
    expect(() => OutboxTypeormModule.forRoot({ dataSource })).toThrow(refusal);
    expect(() => new TypeormOutboxStore(dataSource)).toThrow(refusal);
  });

  it('no options, and a module without them', () => {
    const forRoot = OutboxTypeormModule.forRoot as unknown as () => Module;
    expect(() => forRoot()).toThrow(refusal);
    expect(() => composeModules([OutboxTypeormModule as unknown as Module])).toThrow(
      'OutboxTypeormModule needs options: pass OutboxTypeormModule.forRoot({ … })',
    );
  });
});
