import { composeModules, type Module } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore, typeormStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { describe, expect, it } from 'vitest';

const dataSource = new DataSource({ type: 'postgres' });
const refusal = (message: string): unknown =>
  expect.objectContaining({
    name: 'OutboxError',
    code: 'INVALID_CONFIG',
    message: expect.stringContaining(message),
  });

describe('anything but a data source is rejected, with what to pass', () => {
  it.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a url', 'postgres://localhost/x', 'a string'],
    ['its options', { type: 'postgres' }, 'a plain object'],
    ['an entity manager', dataSource.manager, 'EntityManager'],
    ['a query runner', dataSource.createQueryRunner(), 'PostgresQueryRunner'],
  ])('%s', (_, given: unknown, found) => {
    const message = `the TypeORM store needs a DataSource, got ${found}; pass new DataSource({ … }), or a function that creates one`;
    expect(() => typeormStore(given as DataSource)).toThrow(refusal(message));
    expect(() => OutboxTypeormModule.forRoot({ dataSource: given as DataSource })).toThrow(refusal(message));
    expect(() => new TypeormOutboxStore(given as DataSource)).toThrow(refusal(message));
  });

  it('no options at all', () => {
    const forRoot = OutboxTypeormModule.forRoot as unknown as () => Module;
    expect(() => forRoot()).toThrow(refusal('needs a DataSource, got undefined'));
  });

  it('a module without its options', () => {
    expect(() => composeModules([OutboxTypeormModule as unknown as Module])).toThrow(
      'OutboxTypeormModule needs options: pass OutboxTypeormModule.forRoot({ … })',
    );
  });
});
