import { composeModules, OutboxModule, type SchemaProblem } from '@postcommit/core';
import { SqlOutboxSchema, sqlite } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OutboxPgModule } from '../../store-pg/src/outbox-pg-module.js';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { usePostgres } from './postgres-fixture.js';
import { SqliteDatabase } from './sqlite-database.js';

const FOREIGN: SchemaProblem = {
  level: 'required',
  code: 'FOREIGN_TABLE',
  problem: expect.stringMatching(/outbox.* is not a table of Postcommit/) as unknown as string,
  fix: expect.stringMatching(/^-- .*another table.*outbox:migrate --adopt/) as unknown as string,
};

describe('on PostgreSQL', () => {
  const fixture = usePostgres(async () => {});
  const schema = (): SqlOutboxSchema => new SqlOutboxSchema(pgExecutor(fixture.pool));

  beforeEach(async () => {
    await fixture.query('drop schema public cascade');
    await fixture.query('create schema public');
  });

  /** Everything that a change would touch. */
  async function snapshot(): Promise<unknown> {
    return {
      columns: await fixture.query(`
        select table_name, column_name, data_type, is_nullable, column_default
        from information_schema.columns where table_schema = 'public' order by 1, 2`),
      files: await fixture.query(
        `select relname, oid, relfilenode from pg_class where relnamespace = 'public'::regnamespace order by 1`,
      ),
      rows: await fixture.query('select * from outbox'),
    };
  }

  it.each([
    [
      'one with columns of its own',
      `create table outbox (id uuid primary key, type text not null, payload jsonb, processed_at timestamptz)`,
    ],
    [
      'one with finished rows',
      `create table outbox (id bigserial primary key, topic text, payload jsonb, created_at timestamptz, processed boolean);
       insert into outbox (topic, processed) values ('legacy.1', true), ('legacy.2', true), ('legacy.3', true)`,
    ],
    [
      'one that has a column more than the Prisma model',
      `create table outbox (id varchar(36) primary key, topic varchar(255) not null, payload jsonb,
         created_at timestamp(3) not null default current_timestamp, dispatched_at timestamp(3), dead_at timestamp(3),
         claimed_at timestamp(3), claim_token varchar(36), attempts integer not null default 0, last_error text, done boolean)`,
    ],
    ['a view', `create view outbox as select 'x'::text as id`],
    [
      'a table of locks',
      `create table outbox_locks (id serial primary key, resource text); create view outbox as select 1 as id`,
    ],
  ])('%s is rejected and left unchanged', async (_name, create) => {
    await fixture.pool.query(create);
    const before = await snapshot();
    expect(await schema().check()).toEqual([FOREIGN]);
    await expect(schema().ensure()).rejects.toMatchObject({
      code: 'FOREIGN_TABLE',
      message: expect.stringMatching(/another table.*outbox:migrate --adopt/),
    });
    expect(await snapshot()).toEqual(before);
  });

  it('is rejected by start, and nothing in it is published', async () => {
    await fixture.pool.query(`
      create table outbox (id bigserial primary key, topic text, payload jsonb, created_at timestamptz, processed boolean);
      insert into outbox (topic, processed) values ('legacy.1', true)`);
    const published: string[] = [];
    const app = composeModules([
      OutboxModule.forRoot({ publisher: async ({ id }) => void published.push(id) }),
      OutboxPgModule.forRoot({ pool: fixture.pool }),
    ]);
    const before = await snapshot();
    await expect(app.start()).rejects.toMatchObject({
      code: 'FOREIGN_TABLE',
      message: expect.stringMatching(/another table.*outbox:migrate --adopt/),
    });
    await app.stop();
    expect(published).toEqual([]);
    expect(await snapshot()).toEqual(before);
  });

  it.each(['_locks', '_processed', '_workers', '_paused'])(
    'a foreign side table %s is rejected, too',
    async (suffix) => {
      await fixture.query(`create table outbox${suffix} (id serial primary key, resource text)`);
      expect(await schema().check()).toEqual([FOREIGN]);
      await expect(schema().ensure()).rejects.toMatchObject({ code: 'FOREIGN_TABLE' });
      expect(await fixture.query(`select to_regclass('outbox')::text as made`)).toEqual([{ made: null }]);
      await fixture.query(`drop table outbox${suffix}`);
      await schema().ensure();
      await fixture.query(`drop table outbox${suffix}`);
      await fixture.query(`create table outbox${suffix} (id serial primary key, resource text)`);
      expect(await schema().check()).toEqual([FOREIGN]);
    },
  );

  it('a table of the first version, marked by the comment of the table, is recognized', async () => {
    await schema().ensure();
    await fixture.query('comment on column outbox.id is null');
    await fixture.query(`comment on table outbox is 'Postcommit outbox, schema version 1'`);
    await fixture.query('alter table outbox drop column headers');
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
  });

  it('a table that lost its mark is recognized by its columns, and is marked again', async () => {
    await schema().ensure();
    await fixture.query('comment on column outbox.id is null');
    expect((await schema().check()).map(({ level }) => level)).toEqual(['tuning']);
    await schema().ensure();
    await fixture.query('alter table outbox drop column headers');
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
  });

  describe('adoption', () => {
    const LEGACY = `
      create table outbox (id bigint generated always as identity primary key, topic text, payload text, created_at timestamptz, processed boolean);
      insert into outbox (topic, payload, processed) values ('legacy.1', '{}', true), (null, '[1]', false), ('legacy.3', '{}', true)`;

    it('prints its plan and changes nothing', async () => {
      await fixture.pool.query(LEGACY);
      const before = await snapshot();
      const plan = await schema().planAdoption();
      expect(plan).toMatchObject({ rows: 3, isAtomic: true, obstacles: [] });
      expect(plan?.statements.join('\n')).toContain('set "dispatched_at"');
      expect(await snapshot()).toEqual(before);
    });

    it('leaves no row pending, and accepts new ones', async () => {
      await fixture.pool.query(LEGACY);
      await schema().adopt();
      expect(await schema().check()).toEqual([]);
      const store = new PgOutboxStore(fixture.pool);
      expect(await store.count()).toEqual({ pending: 0, dispatched: 3, dead: 0, total: 3 });
      await store.enqueue([{ id: 'new', topic: 'order.paid', payload: {} }]);
      expect((await store.fetchPending(10)).map(({ id }) => id)).toEqual(['new']);
      await store.requeue('2');
      expect(await store.peek({ state: 'pending' }, 10)).toContainEqual(
        expect.objectContaining({ id: '2', payload: [1] }),
      );
      expect(await schema().planAdoption()).toBeUndefined();
      await schema().adopt();
      expect(await store.count()).toMatchObject({ pending: 2 });
    });

    it('ends claims, deaths and orphans of the other outbox', async () => {
      await fixture.pool.query(`
        create table outbox (id text primary key, claimed_at timestamptz, dead_at timestamptz, dispatched_at timestamptz);
        insert into outbox values ('claimed', now(), null, null), ('dead', null, now(), null), ('done', null, now(), '2020-01-01Z')`);
      await schema().adopt();
      expect(await schema().check()).toEqual([]);
      expect(await new PgOutboxStore(fixture.pool).count()).toMatchObject({ dispatched: 3, total: 3 });
      expect(await fixture.query(`select id from outbox where dispatched_at = '2020-01-01Z'`)).toEqual([
        { id: 'done' },
      ]);
    });

    it.each([
      [
        'a column that must be filled',
        `create table outbox (id text primary key, type text not null)`,
        /column "type"/,
      ],
      ['a view', `create view outbox as select 1 as id`, /not a table/],
      [
        'a constraint on a column of ours',
        `create table outbox (id text primary key, topic text, constraint few check (topic in ('a', 'b')))`,
        /constraint "few"/,
      ],
      [
        'a unique index on a column of ours',
        `create table outbox (id text primary key, topic text unique)`,
        /index "outbox_topic_key"/,
      ],
      [
        'a side table that is not ours',
        `create table outbox (id text primary key); create table outbox_locks (resource text)`,
        /"outbox_locks"/,
      ],
    ])('is blocked by %s, which the plan names', async (_name, create, obstacle) => {
      await fixture.pool.query(create);
      const before = await snapshot();
      expect((await schema().planAdoption())?.obstacles).toEqual([expect.stringMatching(obstacle)]);
      await expect(schema().adopt()).rejects.toMatchObject({
        code: 'FOREIGN_TABLE',
        message: expect.stringMatching(obstacle),
      });
      expect(await snapshot()).toEqual(before);
    });

    it('that fails changes nothing: an id is never truncated', async () => {
      await fixture.pool.query(
        `create table outbox (id char(40) primary key); insert into outbox values (repeat('x', 37))`,
      );
      const before = await snapshot();
      await expect(schema().adopt()).rejects.toThrow(/too long/);
      expect(await snapshot()).toEqual(before);
    });
  });
});

describe('on SQLite', () => {
  let database: SqliteDatabase;
  beforeEach(async () => {
    database = await SqliteDatabase.open();
  });
  afterEach(() => database.close());

  const schema = (): SqlOutboxSchema => new SqlOutboxSchema(database.executor, { dialect: sqlite });
  const snapshot = (): unknown => database.query('select type, name, sql from sqlite_master order by name');

  it.each([
    ['create table outbox (id integer primary key, topic text, done integer)'],
    ['create table outbox_locks (resource text)'],
    ['create view outbox_processed as select 1 as id'],
    ['create table outbox_workers (id text primary key, name text)'],
    ['create table outbox_paused (topic text, paused_at integer, tenant text not null)'],
  ])('%s is rejected and left unchanged', async (create) => {
    database.query(create);
    const before = snapshot();
    expect(await schema().check()).toEqual([FOREIGN]);
    await expect(schema().ensure()).rejects.toMatchObject({ code: 'FOREIGN_TABLE' });
    expect(snapshot()).toEqual(before);
  });

  it('adoption leaves no row pending', async () => {
    database.query(
      'create table outbox (seq integer primary key autoincrement, id text, topic text, created_at integer)',
    );
    database.query(`insert into outbox (id, topic, created_at) values ('old', 't', 1000)`);
    expect(await schema().planAdoption()).toMatchObject({ rows: 1, isAtomic: true, obstacles: [] });
    await schema().adopt();
    expect(await schema().check()).toEqual([]);
    expect(
      database.query('select id, available_at, attempts, dispatched_at > 0 as done from outbox'),
    ).toEqual([{ id: 'old', available_at: 1_000, attempts: 0, done: 1 }]);
    expect(() => database.query(`insert into outbox (id, topic) values ('old', 't')`)).toThrow(/UNIQUE/);
    expect(await schema().planAdoption()).toBeUndefined();
  });

  it.each([
    [
      'a time that is text',
      'seq integer primary key autoincrement, created_at datetime',
      /created_at is datetime/,
    ],
    [
      'a number that is given again',
      'seq integer primary key',
      /seq is not integer primary key autoincrement/,
    ],
    [
      'a column that must be filled',
      'seq integer primary key autoincrement, type text not null',
      /column "type"/,
    ],
    [
      'one whose name has a quote',
      'seq integer primary key autoincrement, "a""; --" text not null',
      /column "a""; --" must/,
    ],
  ])('adoption is blocked by %s, which the plan names', async (_name, columns, obstacle) => {
    database.query(`create table outbox (${columns})`);
    const before = snapshot();
    expect((await schema().planAdoption())?.obstacles).toEqual([expect.stringMatching(obstacle)]);
    await expect(schema().adopt()).rejects.toMatchObject({
      code: 'FOREIGN_TABLE',
      message: expect.stringMatching(obstacle),
    });
    expect(snapshot()).toEqual(before);
  });
});
