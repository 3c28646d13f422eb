import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { handleOnce } from '../src/index.js';

let database: TestDatabase;
let pool: pg.Pool;
let processed: ProcessedMessages<pg.PoolClient>;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  const outbox = createOutbox({ store: pgStore(pool), worker: false });
  await outbox.migrate();
  processed = outbox.app.get(ProcessedMessages);
  await pool.query('create table effects (name text)');
});

beforeEach(() => pool.query('truncate effects, outbox_processed'));

afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function effects(): Promise<string[]> {
  const { rows } = await pool.query('select name from effects order by name');
  return rows.map(({ name }) => name);
}

function handle(id: string, { consumer = 'points', name = id, fails = false } = {}): Promise<boolean> {
  return inTransaction(pool, (tx) =>
    handleOnce(processed, tx, { consumer, id }, async (given) => {
      await given.query('insert into effects values ($1)', [name]);
      if (fails) throw new Error('the handler failed');
    }),
  );
}

describe('handleOnce', () => {
  it('runs the handler for the first delivery, and says so', async () => {
    expect(await handle('m-1')).toBe(true);
    expect(await handle('m-1')).toBe(false);
    expect(await handle('m-2')).toBe(true);
    expect(await effects()).toEqual(['m-1', 'm-2']);
  });

  it('lets each consumer handle a message', async () => {
    expect(await handle('m-1', { consumer: 'points' })).toBe(true);
    expect(await handle('m-1', { consumer: 'mails' })).toBe(true);
    expect(await effects()).toEqual(['m-1', 'm-1']);
  });

  it('forgets a message whose handler failed, with its effect', async () => {
    await expect(handle('m-1', { fails: true })).rejects.toThrow('the handler failed');
    expect(await effects()).toEqual([]);
    expect(await handle('m-1')).toBe(true);
  });

  it('runs the handler once for deliveries at the same time', async () => {
    const ran = await Promise.all(Array.from({ length: 8 }, () => handle('m-1')));
    expect(ran.filter(Boolean)).toHaveLength(1);
    expect(await effects()).toEqual(['m-1']);
  });

  it('knows what processOnce has recorded, by the same id', async () => {
    const id = '0198c0de-0000-7000-8000-000000000001';
    await inTransaction(pool, (tx) => processed.processOnce(tx, 'points', id, async () => {}));
    expect(await handle(id)).toBe(false);
  });

  it.each([
    ['that are long and differ at their ends', `${'long'.repeat(20)}1`, `${'long'.repeat(20)}2`],
    ['with other letters', 'Grüße-1', 'Grüße-2'],
    ['that look like what is stored for a long one', 'sha256:1', 'sha256:2'],
  ])('tells ids apart %s', async (_, one, other) => {
    expect(await handle(one, { name: 'one' })).toBe(true);
    expect(await handle(other, { name: 'other' })).toBe(true);
    expect(await handle(one)).toBe(false);
    expect(await handle(other)).toBe(false);
    expect(await effects()).toEqual(['one', 'other']);
  });

  it('never stores an id of someone else as that of a long one', async () => {
    const long = 'x'.repeat(100);
    await handle(long);
    const { rows } = await pool.query('select row_id from outbox_processed');
    const [{ row_id: stored }] = rows;
    expect(stored).toMatch(/^sha256:.{29}$/);
    expect(await handle(stored)).toBe(true);
  });
});

describe('handleOnce refuses', () => {
  const odd = (handling: unknown): Promise<boolean> =>
    inTransaction(pool, (tx) => handleOnce(processed, tx, handling as never, async () => {}));

  it.each([
    [
      'an unknown name',
      { consumer: 'a', id: 'b', consumr: 'c' },
      "unknown option 'consumr': did you mean 'consumer'?",
    ],
    ['an empty id', { consumer: 'a', id: '' }, 'id must be a text'],
    ['no id', { consumer: 'a' }, 'id must be a text'],
    ['an id that is no text', { consumer: 'a', id: 7 }, 'id must be a text'],
    ['an empty consumer', { consumer: '', id: 'b' }, 'consumer must be a text of 1 to 255 characters'],
    ['a long consumer', { consumer: 'a'.repeat(256), id: 'b' }, 'consumer must be a text of 1 to 255'],
    ['nothing', undefined, 'id must be a text'],
  ])('%s', async (_, handling, problem) => {
    await expect(odd(handling)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(problem) }),
    );
  });

  it('no handler', async () => {
    const call = (): Promise<boolean> =>
      inTransaction(pool, (tx) => handleOnce(processed, tx, { consumer: 'a', id: 'b' }, undefined as never));
    await expect(call()).rejects.toThrow('handleOnce: the handler must be a function');
  });

  it('nothing that has the longest name', async () => {
    expect(await handle('m-1', { consumer: 'a'.repeat(255) })).toBe(true);
  });
});

describe('the type of the transaction', () => {
  it('is that of the argument, also with the ProcessedMessages of an application', () => {
    const given = {} as ProcessedMessages<unknown>;
    const call = (tx: pg.PoolClient): Promise<boolean> =>
      handleOnce(given, tx, { consumer: 'a', id: 'b' }, async (own) => {
        expectTypeOf(own).toEqualTypeOf<pg.PoolClient>();
      });
    expectTypeOf(call).returns.toEqualTypeOf<Promise<boolean>>();
  });

  it('must be that of the store', () => {
    const call = (tx: { readonly other: true }): Promise<boolean> =>
      // @ts-expect-error: a transaction of something else
      handleOnce(processed, tx, { consumer: 'a', id: 'b' }, async () => {});
    expect(call).toBeTypeOf('function');
  });
});
