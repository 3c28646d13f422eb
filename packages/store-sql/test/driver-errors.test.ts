import { OutboxError } from '@postcommit/core';
import { postgres, TableName } from '@postcommit/store-sql';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import { idNamedBy, missingTableError } from '../src/driver-errors.js';
import { usePostgres } from './postgres-fixture.js';
import { newRow } from './sql-session.js';

const fixture = usePostgres();
const table = new TableName();
const detail = 'Key (id)=(m2) already exists.';

describe('a unique violation', () => {
  const rows = [newRow('m1'), newRow('m2')];

  it.each([
    ['pg', { code: '23505', detail }],
    ['TypeORM', { driverError: { code: '23505', detail } }],
    [
      'Prisma',
      {
        code: 'P2010',
        meta: { driverAdapterError: { cause: { originalCode: '23505', originalMessage: detail } } },
      },
    ],
    ['a wrapper with a cause', new Error('wrapped', { cause: { code: '23505', detail } })],
  ])('is recognized, with the duplicate id: %s', (_, error) => {
    expect(postgres.faultOf(error)).toBe('duplicate');
    expect(idNamedBy(error, rows)).toBe('m2');
  });

  it('names no wrong id if the driver does not report it', () => {
    expect(idNamedBy({ code: '23505' }, rows)).toBeUndefined();
    expect(idNamedBy({ code: '23505' }, [newRow('only')])).toBe('only');
  });

  it.each([undefined, null, 'text', new Error('x'), { code: '40001' }, { code: 23505 }])(
    'is not %s',
    (error) => {
      expect(postgres.faultOf(error)).toBeUndefined();
    },
  );

  it('an error that wraps itself does not loop', () => {
    const error: { cause?: unknown } = {};
    error.cause = error;
    expect(postgres.faultOf(error)).toBeUndefined();
  });
});

describe('missingTableError', () => {
  it('names the command that fixes it', () => {
    const cause = { code: '42P01' };
    const error = missingTableError(postgres.faultOf(cause), table, cause);
    expect(error).toBeInstanceOf(OutboxError);
    expect(error).toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringMatching(/does not exist.*outbox:migrate/),
      cause,
    });
    const fault = postgres.faultOf({ code: '42703' });
    expect(missingTableError(fault, table, undefined)?.message).toContain('lacks a column');
  });

  it.each(['40001', '40P01', '57P01', '08006'])('ignores %s', (code) => {
    expect(missingTableError(postgres.faultOf({ code }), table, undefined)).toBeUndefined();
  });
});

describe('on the real server', () => {
  it('a duplicate id is named', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await store.enqueue({ id: 'taken', topic: 't', payload: 1 });
    const again = store.enqueue([
      { id: 'free', topic: 't', payload: 1 },
      { id: 'taken', topic: 't', payload: 1 },
    ]);
    await expect(again).rejects.toMatchObject({
      code: 'DUPLICATE_ID',
      message: expect.stringContaining("'taken'"),
    });
    expect((await store.count()).pending).toBe(1);
  });

  it('a missing table is named, with its schema, by every method', async () => {
    const store = new PgOutboxStore(fixture.pool, { schema: 'public', table: 'nowhere' });
    const refused = { code: 'SCHEMA_OUTDATED', message: expect.stringContaining('"public"."nowhere"') };
    await expect(store.enqueue({ topic: 't', payload: 1 })).rejects.toMatchObject(refused);
    await expect(store.fetchPending(1)).rejects.toMatchObject(refused);
    await expect(store.markDispatched(['x'])).rejects.toMatchObject(refused);
    await expect(store.count()).rejects.toMatchObject(refused);
  });

  it('a deadlock, a time-out or a cancelled statement reaches the caller unchanged', async () => {
    const client = await fixture.pool.connect();
    try {
      await client.query('begin');
      await client.query('lock table outbox in access exclusive mode');
      const url = new URL(fixture.url);
      url.searchParams.set('options', '-c lock_timeout=20');
      const hasty = new pg.Pool({ connectionString: url.href });
      await expect(new PgOutboxStore(hasty).count()).rejects.toMatchObject({ code: '55P03' });
      await hasty.end();
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});
