import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, SqlOutboxSchema } from '@postcommit/store-sql';
import { createConnection, createPool } from 'mysql2/promise';
import { beforeEach, describe, expect, it } from 'vitest';
import { mysqlExecutor } from './mysql-executor.js';
import { useMysql } from './mysql-fixture.js';

/** What Prisma makes of the model of document 002 on MySQL. */
const PRISMA_TABLE = `
  create table outbox (
    id varchar(36) not null, topic varchar(255) not null, payload json null,
    created_at datetime(3) not null default current_timestamp(3), dispatched_at datetime(3) null,
    dead_at datetime(3) null, claimed_at datetime(3) null, claim_token varchar(36) null,
    attempts integer not null default 0, last_error varchar(191) null,
    index idx_outbox_pending (dispatched_at, dead_at, created_at), index idx_outbox_claimed (claimed_at),
    primary key (id)
  ) default character set utf8mb4 collate utf8mb4_unicode_ci`;

describeOnMysql('a foreign table on MariaDB or MySQL', () => {
  const fixture = useMysql(async () => {});
  const schema = (): SqlOutboxSchema => new SqlOutboxSchema(fixture.executor, { dialect: mysql });

  beforeEach(async () => {
    await fixture.query('drop view if exists outbox');
    await fixture.query(
      'drop table if exists outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused',
    );
  });

  async function run(script: string): Promise<void> {
    const connection = await createConnection({ uri: fixture.url, multipleStatements: true });
    await connection.query(script).finally(() => connection.end());
  }

  async function snapshot(): Promise<unknown> {
    return {
      columns: await fixture.query(
        `select table_name, column_name, column_type, is_nullable, column_default, extra
         from information_schema.columns where table_schema = database() order by 1, 2`,
      ),
      rows: await fixture.query('select * from outbox'),
    };
  }

  it.each([
    [
      'one with columns of its own',
      `create table outbox (id int auto_increment primary key, event varchar(50) not null, done tinyint);
       insert into outbox (event, done) values ('legacy', 1)`,
    ],
    ['a view', `create view outbox as select 1 as id`],
    [
      'one beside a foreign table of locks',
      `create table outbox (id int); create table outbox_locks (resource int)`,
    ],
  ])('%s is rejected and left unchanged', async (_name, create) => {
    await run(create);
    const before = await snapshot();
    expect(await schema().check()).toEqual([
      {
        level: 'required',
        code: 'FOREIGN_TABLE',
        problem: expect.stringContaining('is not a table of Postcommit'),
        fix: expect.stringContaining('outbox:migrate --adopt'),
      },
    ]);
    await expect(schema().ensure()).rejects.toMatchObject({ code: 'FOREIGN_TABLE' });
    expect(await snapshot()).toEqual(before);
  });

  it('the table that Prisma creates from the model of document 002 is upgraded, and its rows keep their states', async () => {
    await run(PRISMA_TABLE);
    await run(`
      insert into outbox (id, topic, payload, created_at, dispatched_at) values
        ('done', 't', '{}', '2026-01-01', '2026-01-02'), ('waiting', 't', '{"a": 1}', '2026-01-01', null)`);
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
    expect(await fixture.query('select id from outbox where dispatched_at is null')).toEqual([
      { id: 'waiting' },
    ]);
  });

  it('an interrupted upgrade of it continues', async () => {
    await run(PRISMA_TABLE);
    await run(
      `alter table outbox comment = 'Postcommit outbox, schema version 1', add column \`key\` varchar(255)`,
    );
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
  });

  describe('adoption', () => {
    const LEGACY = `
      create table outbox (id int auto_increment primary key, topic varchar(50), done tinyint);
      insert into outbox (topic, done) values ('legacy', 1), ('legacy', 0), (null, 1)`;

    it('plans first, because it can’t be undone here', async () => {
      await run(LEGACY);
      const before = await snapshot();
      expect(await schema().planAdoption()).toMatchObject({ rows: 3, isAtomic: false, obstacles: [] });
      expect(await snapshot()).toEqual(before);
    });

    it('leaves no row pending, and accepts new ones', async () => {
      await run(LEGACY);
      await schema().adopt();
      expect(await schema().check()).toEqual([]);
      expect(await fixture.query('select id from outbox where dispatched_at is null')).toEqual([]);
      await fixture.query(`insert into outbox (id, topic) values ('new', 't')`);
      await schema().adopt();
      expect(await fixture.query('select id from outbox where dispatched_at is null')).toEqual([
        { id: 'new' },
      ]);
    });

    it('that was interrupted leaves the table foreign, and can be repeated', async () => {
      await run(LEGACY);
      const plan = await schema().planAdoption();
      for (const statement of plan?.statements.slice(0, -1) ?? []) await fixture.query(statement);
      expect(await schema().check()).toMatchObject([{ code: 'FOREIGN_TABLE' }]);
      await schema().adopt();
      expect(await schema().check()).toEqual([]);
      expect(await fixture.query('select id from outbox where dispatched_at is null')).toEqual([]);
    });

    it('never truncates an id, whatever the SQL mode of the session', async () => {
      await run(
        `create table outbox (id varchar(60) primary key); insert into outbox values (repeat('x', 37))`,
      );
      const pool = createPool({ uri: fixture.url, connectionLimit: 1 });
      await pool.query(`set sql_mode = ''`);
      const adopting = new SqlOutboxSchema(mysqlExecutor(pool), { dialect: mysql }).adopt();
      await expect(adopting.finally(() => pool.end())).rejects.toThrow(/too long/i);
      expect(await fixture.query('select char_length(id) as length from outbox')).toEqual([{ length: 37 }]);
    });

    it('quotes columns and constraints, whatever characters they have', async () => {
      await run(
        'create table outbox (id int primary key, `a``; drop table outbox; --` text not null, constraint `c``; --` check (id > 0))',
      );
      expect((await schema().planAdoption())?.obstacles).toEqual([
        expect.stringContaining('column `a``; drop table outbox; --` must'),
        expect.stringContaining('constraint `c``; --` may'),
      ]);
    });

    it.each([
      [
        'a column that must be filled',
        'create table outbox (id int primary key, type text not null)',
        /column `type`/,
      ],
      ['a view', 'create view outbox as select 1 as id', /not a table/],
      [
        'another column that counts by itself',
        'create table outbox (nr int auto_increment primary key, id varchar(36))',
        /column `nr`/,
      ],
      [
        'a constraint',
        `create table outbox (id int primary key, topic varchar(9), constraint few check (topic in ('a', 'b')))`,
        /constraint `few`/,
      ],
    ])('is blocked by %s, which the plan names', async (_name, create, obstacle) => {
      await run(create);
      const before = await snapshot();
      expect((await schema().planAdoption())?.obstacles).toEqual([expect.stringMatching(obstacle)]);
      await expect(schema().adopt()).rejects.toMatchObject({
        code: 'FOREIGN_TABLE',
        message: expect.stringMatching(obstacle),
      });
      expect(await snapshot()).toEqual(before);
    });
  });
});
