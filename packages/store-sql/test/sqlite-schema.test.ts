import { SqlOutboxSchema, sqlite, type TableOptions } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SqliteDatabase } from './sqlite-database.js';

let database: SqliteDatabase;

beforeEach(async () => {
  database = await SqliteDatabase.open();
});
afterEach(() => database.close());

const schemaOf = (options: TableOptions = {}): SqlOutboxSchema =>
  new SqlOutboxSchema(database.executor, { ...options, dialect: sqlite });

const catalog = (): unknown => database.query('select type, name, sql from sqlite_master order by name');

async function problems(): Promise<string[]> {
  return (await schemaOf().check()).map(({ problem }) => problem);
}

describe('ensure', () => {
  it('prepares an empty database', async () => {
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
  });

  it('does nothing the second time, and keeps the rows', async () => {
    await schemaOf().ensure();
    database.query(`insert into outbox (id, topic) values ('kept', 't')`);
    const before = catalog();
    await schemaOf().ensure();
    expect(catalog()).toEqual(before);
    expect(database.query('select id, seq from outbox')).toEqual([{ id: 'kept', seq: 1 }]);
  });

  it('creates what it prints, under custom names, beside another outbox', async () => {
    await schemaOf({ table: 'messages' }).ensure();
    const made = catalog();
    database.close();
    database = await SqliteDatabase.open();
    // Each statement ends a line, and none has a semicolon inside.
    for (const text of schemaOf({ table: 'messages' }).print().split(';\n').slice(0, -1))
      database.query(text);
    expect(catalog()).toEqual(made);
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
    expect(await schemaOf({ table: 'messages' }).check()).toEqual([]);
  });

  it('leaves nothing half done', async () => {
    await schemaOf().ensure();
    database.query('drop index outbox_due');
    database.query('alter table outbox drop column backoff');
    // A view in the place of a table that is to be made.
    database.query('drop table outbox_locks');
    database.query('create view outbox_locks as select 1 as name');
    const before = catalog();
    await expect(schemaOf().ensure()).rejects.toThrow();
    expect(catalog()).toEqual(before);
  });
});

describe('check names what is missing, and ensure fixes it', () => {
  it('the table', async () => {
    expect(await schemaOf().check()).toEqual([
      {
        level: 'required',
        problem: 'table "outbox" does not exist',
        fix: expect.stringContaining('create table if not exists "outbox"'),
      },
    ]);
  });

  it.each([
    ['alter table outbox drop column headers', /column headers is missing/, /add column "headers" text;/],
    ['alter table outbox drop column attempts', /column attempts/, /"attempts" integer not null default 0;/],
    ['drop index outbox_keyed', /index outbox_keyed on \(key, seq\).* is missing/, /create index/],
    ['drop table outbox_locks', /table "outbox_locks" is missing/, /create table/],
    ['drop table outbox_processed', /table "outbox_processed" is missing/, /create table/],
    ['drop table outbox_workers', /table "outbox_workers" is missing/, /create table/],
    ['drop table outbox_paused', /table "outbox_paused" is missing/, /create table/],
  ])('%s', async (damage, problem, fix) => {
    await schemaOf().ensure();
    database.query(damage);
    expect(await schemaOf().check()).toEqual([
      { level: 'required', problem: expect.stringMatching(problem), fix: expect.stringMatching(fix) },
    ]);
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
  });

  it('an index of the right name on other columns', async () => {
    await schemaOf().ensure();
    database.query('drop index outbox_dead');
    database.query('create index outbox_dead on outbox (topic)');
    expect(await problems()).toEqual([expect.stringMatching(/outbox_dead .* has other columns/)]);
    await schemaOf().ensure();
    expect(await problems()).toEqual([]);
  });

  it('an index on the right columns, without its predicate', async () => {
    await schemaOf().ensure();
    database.query('drop index outbox_dispatched');
    database.query('create index outbox_dispatched on outbox (dispatched_at)');
    expect(await problems()).toEqual([expect.stringMatching(/outbox_dispatched .* another predicate/)]);
    await schemaOf().ensure();
    expect(await problems()).toEqual([]);
  });
});

describe('an older outbox table', () => {
  const CLAIM = 'claim_token text, claimed_at integer, check ((claim_token is null) = (claimed_at is null))';

  it('gets the columns it lacks: its rows are due since they were enqueued', async () => {
    database.query(
      `create table outbox (seq integer primary key autoincrement, id text, topic text, created_at integer, ${CLAIM})`,
    );
    database.query(`insert into outbox (id, topic, created_at) values ('old', 't', 1000)`);
    await schemaOf().ensure();
    expect(await problems()).toEqual([]);
    expect(database.query('select id, available_at, attempts from outbox')).toEqual([
      { id: 'old', available_at: 1_000, attempts: 0 },
    ]);
    expect(() => database.query(`insert into outbox (id) values ('old')`)).toThrow(/UNIQUE/);
  });

  it.each([
    ['a time that is text', `created_at datetime`, /column created_at is datetime, not integer/],
    ['a number that is given again', `created_at integer`, /seq is not integer primary key autoincrement/],
  ])('with %s is left unchanged, and reported', async (_name, column, problem) => {
    database.query(`create table outbox (seq integer primary key, id text unique, ${column}, ${CLAIM})`);
    const before = catalog();
    expect(await problems()).toContainEqual(expect.stringMatching(problem));
    await expect(schemaOf().ensure()).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringMatching(problem),
    });
    expect(catalog()).toEqual(before);
  });
});

it('a time written as text is rejected: it would be greater than every number, and the row never due', async () => {
  await schemaOf().ensure();
  const insert = `insert into outbox (id, topic, available_at) values ('a', 't', '2030-01-01')`;
  expect(() => database.query(insert)).toThrow(/cannot store TEXT/);
});

it('a row is never half claimed, nor dispatched and dead', async () => {
  await schemaOf().ensure();
  database.query(`insert into outbox (id, topic) values ('a', 't')`);
  expect(() => database.query(`update outbox set claim_token = 'x'`)).toThrow(/outbox_claim_check/);
  expect(() => database.query('update outbox set dispatched_at = 1, dead_at = 1')).toThrow(/state_check/);
});

it('omitted columns default to the database’s clock, to the millisecond', async () => {
  await schemaOf().ensure();
  const before = Date.now();
  database.query(`insert into outbox (id, topic) values ('a', 't')`);
  const [row] = database.query('select created_at, available_at from outbox');
  expect(row?.created_at).toBeGreaterThanOrEqual(before);
  expect(row?.created_at).toBeLessThanOrEqual(Date.now());
  expect(row?.available_at).toBe(row?.created_at);
});
