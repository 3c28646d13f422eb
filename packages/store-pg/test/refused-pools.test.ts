import { composeModules, type Module, OutboxModule } from '@postcommit/core';
import { inTransaction, OutboxPgModule, PgOutboxStore, type PgPoolLike } from '@postcommit/store-pg';
import pg from 'pg';
import { describe, expect, it } from 'vitest';

/** JavaScript, or a variable of the environment that is not set. */
const given = (pool: unknown): PgPoolLike => pool as PgPoolLike;
const invalid = (message: string): unknown =>
  expect.objectContaining({
    name: 'OutboxError',
    code: 'INVALID_CONFIG',
    message: expect.stringContaining(message),
  });

describe('anything but a pool is rejected, with what to pass', () => {
  it.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a url', 'postgres://localhost/x', 'a string'],
    [
      'its options',
      { connectionString: 'postgres://localhost/x' },
      'an object without query() and connect()',
    ],
    ['the class', pg.Pool, 'a function'],
    ['a client', new pg.Client(), 'a single pg Client'],
  ])('%s', (_, pool, found) => {
    const message = `the pg store needs a pool, got ${found}; pass pool: new pg.Pool({ connectionString })`;
    expect(() => OutboxPgModule.forRoot({ pool: given(pool) })).toThrow(invalid(message));
    expect(() => new PgOutboxStore(given(pool))).toThrow(invalid(message));
  });

  it('in the place of the pool of inTransaction', async () => {
    const rejects = expect(inTransaction(given(undefined) as pg.Pool, async () => {})).rejects;
    await rejects.toEqual(invalid('the pg store needs a pool, got undefined'));
  });

  it('no options at all', () => {
    const forRoot = OutboxPgModule.forRoot as unknown as () => Module;
    expect(() => forRoot()).toThrow(invalid('needs a pool, got undefined'));
  });

  it('a module without its options', () => {
    const forgotten = OutboxPgModule as unknown as Module;
    expect(() => composeModules([OutboxModule, forgotten])).toThrow(
      invalid('OutboxPgModule needs options: pass OutboxPgModule.forRoot({ … })'),
    );
  });
});

describe('a pool for another database', () => {
  it.each(['mysql', 'mariadb', 'MYSQL', 'mongodb+srv', 'sqlite', 'https'])(
    '%s:// is rejected, without its password',
    (scheme) => {
      const pool = new pg.Pool({ connectionString: `${scheme}://user:secret@db/shop` });
      const message = `the pool's connectionString is a ${scheme.toLowerCase()}:// address; the pg store needs postgres://`;
      expect(() => OutboxPgModule.forRoot({ pool })).toThrow(invalid(message));
      expect(() => OutboxPgModule.forRoot({ pool })).not.toThrow(/secret/);
    },
  );

  it.each([
    { connectionString: 'postgres://localhost/x' },
    { connectionString: 'postgresql://localhost/x' },
    { connectionString: 'POSTGRES://localhost/x' },
    { connectionString: 'socket:/var/run/postgresql?db=x' },
    { connectionString: '/var/run/postgresql x' },
    { connectionString: '' },
    { connectionString: undefined },
    { host: 'localhost' },
  ])('%j is not', (options) => {
    expect(OutboxPgModule.forRoot({ pool: new pg.Pool(options) }).name).toBe('OutboxPgModule');
  });
});
