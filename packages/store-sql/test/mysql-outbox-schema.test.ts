import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, SqlOutboxSchema, type TableOptions } from '@postcommit/store-sql';
import { createConnection, createPool } from 'mysql2/promise';
import { beforeEach, describe, expect, it } from 'vitest';
import { mysqlExecutor } from './mysql-executor.js';
import { useMysql } from './mysql-fixture.js';

interface Damage {
  readonly name: string;
  readonly by: string;
  readonly problem: RegExp;
}

const DAMAGES: readonly Damage[] = [
  ...['payload', 'headers', 'last_error', 'max_attempts', 'backoff', 'dead_reason', 'retakes'].map(
    (column): Damage => ({
      name: `column ${column} dropped`,
      by: `alter table outbox drop column ${column}`,
      problem: new RegExp(`^column ${column} is missing$`),
    }),
  ),
  ...['due', 'keyed_due', 'keyed', 'claimed_key', 'dispatched', 'dead', 'id'].map(
    (suffix): Damage => ({
      name: `index outbox_${suffix} dropped`,
      by: `alter table outbox drop index outbox_${suffix}`,
      problem: new RegExp(`^index outbox_${suffix} .* is missing$`),
    }),
  ),
  {
    name: 'an index of the outbox’s name on other columns',
    by: 'alter table outbox drop index outbox_keyed, add index outbox_keyed (seq, pending_key)',
    problem: /^index outbox_keyed .* has other columns$/,
  },
  {
    name: 'an id that is not unique',
    by: 'alter table outbox drop index outbox_id, add index outbox_id (id)',
    problem: /^index outbox_id /,
  },
  ...['claim', 'state'].map(
    (suffix): Damage => ({
      name: `constraint outbox_${suffix}_check dropped`,
      by: `alter table outbox drop constraint outbox_${suffix}_check`,
      problem: new RegExp(`^constraint outbox_${suffix}_check is missing`),
    }),
  ),
  ...['id', 'topic', 'key', 'claimed_key'].map(
    (column): Damage => ({
      name: `column ${column} with a collation that takes 'A' for 'a'`,
      by: `alter table outbox modify \`${column}\` varchar(${column === 'id' ? 36 : 255}) character set utf8mb4 collate utf8mb4_general_ci${['id', 'topic'].includes(column) ? ' not null' : ''}`,
      problem: new RegExp(`^column ${column} is compared by utf8mb4_general_ci`),
    }),
  ),
  {
    name: "column key with a collation that takes 'a ' for 'a'",
    by: 'alter table outbox modify `key` varchar(255) character set utf8mb4 collate utf8mb4_bin',
    problem: /^column key is compared by utf8mb4_bin/,
  },
  {
    name: 'a time in the zone of the session',
    by: 'alter table outbox modify claimed_until timestamp(6) null',
    problem: /^column claimed_until is timestamp\(6\), not datetime\(6\)$/,
  },
  {
    name: 'a time without microseconds',
    by: 'alter table outbox modify claimed_at datetime',
    problem: /^column claimed_at is datetime, not datetime\(6\)$/,
  },
  {
    name: 'a column of another type',
    by: 'alter table outbox modify attempts varchar(20) not null',
    problem: /^column attempts is varchar\(20\), not int$/,
  },
  ...['locks', 'processed', 'workers', 'paused'].map(
    (suffix): Damage => ({
      name: `side table outbox_${suffix} dropped`,
      by: `drop table outbox_${suffix}`,
      problem: new RegExp(`^table \`outbox_${suffix}\` is missing$`),
    }),
  ),
];

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql(async () => {});

  const schemaOf = (options: TableOptions = {}): SqlOutboxSchema =>
    new SqlOutboxSchema(fixture.executor, { dialect: mysql, ...options });

  beforeEach(async () => {
    const tables = await fixture.query(
      'select table_name as name from information_schema.tables where table_schema = database()',
    );
    for (const { name } of tables) await fixture.query(`drop table \`${String(name)}\``);
  });

  /** As the client would that comes with the server. */
  async function runScript(text: string): Promise<void> {
    const connection = await createConnection({ uri: fixture.url, multipleStatements: true });
    try {
      await connection.query(text);
    } finally {
      await connection.end();
    }
  }

  async function isMariadb(): Promise<boolean> {
    const [row] = await fixture.query('select version() as version');
    return /mariadb/i.test(String(row?.version));
  }

  describe('ensure', () => {
    it('prepares an empty database', async () => {
      await schemaOf().ensure();
      expect(await schemaOf().check()).toEqual([]);
    });

    it('does nothing the second time, and keeps the rows', async () => {
      await schemaOf().ensure();
      await fixture.query(`insert into outbox (id, topic) values ('kept', 't')`);
      const made = `select table_name, create_time from information_schema.tables where table_schema = database() order by 1`;
      const before = await fixture.query(made);
      await schemaOf().ensure();
      expect(await fixture.query(made)).toEqual(before);
      expect(await fixture.query('select id, seq from outbox')).toEqual([{ id: 'kept', seq: 1 }]);
    });

    it('has defaults for rows that are inserted by hand: they are due at once', async () => {
      await schemaOf().ensure();
      await fixture.query("insert into outbox (id, topic) values ('plain', 't')");
      await fixture.query("insert into outbox (id, topic, `key`) values ('keyed', 't', 'k')");
      expect(
        await fixture.query(`
          select id, available_at between utc_timestamp(6) - interval 1 minute and utc_timestamp(6) as is_due,
            coalesce(due_at, keyed_due_at) = available_at as is_seen
          from outbox order by seq`),
      ).toEqual([
        { id: 'plain', is_due: 1, is_seen: 1 },
        { id: 'keyed', is_due: 1, is_seen: 1 },
      ]);
    });

    it('is safe if eight instances start at once on an empty database', async () => {
      await atOnce(8);
      expect(await schemaOf().check()).toEqual([]);
    });

    it('is safe if eight instances fix the same table at once', async () => {
      await schemaOf().ensure();
      await runScript(`
        alter table outbox drop index outbox_due, drop column headers, drop constraint outbox_state_check;
        drop table outbox_locks`);
      await atOnce(8);
      expect(await schemaOf().check()).toEqual([]);
    });

    it('upgrades version 1, which had no tables for workers and pauses, and keeps the rows', async () => {
      await schemaOf().ensure();
      await runScript(`
        drop table outbox_workers, outbox_paused;
        alter table outbox comment = 'Postcommit outbox, schema version 1';
        insert into outbox (id, topic) values ('kept', 't')`);
      const problems = (await schemaOf().check()).map(({ problem }) => problem);
      expect(problems).toEqual([
        expect.stringContaining("is not 'Postcommit outbox, schema version 2'"),
        'table `outbox_workers` is missing',
        'table `outbox_paused` is missing',
      ]);
      await atOnce(8);
      expect(await schemaOf().check()).toEqual([]);
      expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
    });

    it('converts a time that depends on the session’s time zone, whatever that is', async () => {
      await schemaOf().ensure();
      await runScript(`
        set time_zone = '+09:00';
        alter table outbox modify dead_at timestamp(6) null;
        insert into outbox (id, topic, dead_at) values ('m1', 't', '2026-01-31 21:00:00')`);
      const pool = createPool({ uri: fixture.url, connectionLimit: 1 });
      await pool.query("set time_zone = '+09:00'");
      await new SqlOutboxSchema(mysqlExecutor(pool), { dialect: mysql }).ensure();
      await pool.end();
      expect(await fixture.query('select cast(dead_at as char) as dead_at from outbox')).toEqual([
        { dead_at: '2026-01-31 12:00:00.000000' },
      ]);
    });

    it('releases its lock if it fails', async () => {
      await schemaOf().ensure();
      await runScript(`
        alter table outbox drop index outbox_id;
        insert into outbox (id, topic) values ('twice', 't'), ('twice', 't')`);
      await expect(schemaOf().ensure()).rejects.toThrow();
      await fixture.query('delete from outbox where seq = 2');
      await schemaOf().ensure();
      expect(await schemaOf().check()).toEqual([]);
    });
  });

  describe('print', () => {
    it('returns a script that prepares an empty database, and that can be run again', async () => {
      await runScript(schemaOf().print());
      await runScript(schemaOf().print());
      expect(await schemaOf().check()).toEqual([]);
    });
  });

  describe('check names each problem, and its fix works', () => {
    beforeEach(async () => {
      await schemaOf().ensure();
      await fixture.query(`insert into outbox (id, topic, payload) values ('kept', 't', '{}')`);
    });

    it.each(DAMAGES)('$name', async ({ by, problem }) => {
      await runScript(by);
      const problems = await schemaOf().check();
      expect(problems.map(({ level }) => level)).toEqual(['required']);
      expect(problems[0]?.problem).toMatch(problem);
      await runScript(problems[0]?.fix ?? '');
      expect(await schemaOf().check()).toEqual([]);
      expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
    });

    it('a table whose due times reject the default of available_at is rebuilt on MySQL only', async () => {
      await runScript(`
        alter table outbox
          modify due_at datetime(6) generated always as (
            case when dispatched_at is null and dead_at is null and \`key\` is null then available_at end) stored,
          modify keyed_due_at datetime(6) generated always as (
            case when dispatched_at is null and dead_at is null and \`key\` is not null then available_at end) stored`);
      const problems = await schemaOf().check();
      expect(problems.map(({ level, problem }) => `${level}: ${problem}`)).toEqual(
        (await isMariadb())
          ? []
          : ['due_at', 'keyed_due_at'].map(
              (name) => `tuning: column ${name} makes MySQL reject an insert without available_at`,
            ),
      );
      await schemaOf().ensure();
      expect(await schemaOf().check()).toEqual([]);
      await fixture.query("insert into outbox (id, topic) values ('by hand', 't')");
      expect(await fixture.query('select id from outbox order by seq')).toEqual([
        { id: 'kept' },
        { id: 'by hand' },
      ]);
    });

    it('several problems are all named, and ensure fixes all', async () => {
      await runScript(`
        alter table outbox drop index outbox_due, drop column headers, drop constraint outbox_claim_check;
        drop table outbox_processed`);
      expect(await schemaOf().check()).toHaveLength(4);
      await schemaOf().ensure();
      expect(await schemaOf().check()).toEqual([]);
      expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
    });

    it('additional columns and indexes are accepted', async () => {
      await runScript('alter table outbox add column tenant varchar(20), add index (tenant)');
      expect(await schemaOf().check()).toEqual([]);
    });
  });

  describe('table and schema names', () => {
    it.each(['OrderMessages', 'order', `o${'x'.repeat(39)}`])('may be %s', async (table) => {
      await schemaOf({ table }).ensure();
      expect(await schemaOf({ table }).check()).toEqual([]);
      await runScript(schemaOf({ table }).print());
    });

    it('a table of the same name in another database is not mistaken for the outbox', async () => {
      await schemaOf().ensure();
      const [problem, ...others] = await schemaOf({ schema: 'mysql' }).check();
      expect(problem).toMatchObject({ level: 'required', problem: 'table `mysql`.`outbox` does not exist' });
      expect(others).toEqual([]);
    });

    it('a database can be named', async () => {
      const schema = new URL(fixture.url).pathname.slice(1);
      await schemaOf({ schema }).ensure();
      expect(await schemaOf({ schema }).check()).toEqual([]);
      expect(await schemaOf().check()).toEqual([]);
    });
  });

  /** Each on a pool of its own, all let go at the same moment. */
  async function atOnce(count: number): Promise<void> {
    const pools = Array.from({ length: count }, () => createPool({ uri: fixture.url, connectionLimit: 2 }));
    try {
      await Promise.all(pools.map((pool) => pool.query('select 1')));
      await Promise.all(
        pools.map((pool) => new SqlOutboxSchema(mysqlExecutor(pool), { dialect: mysql }).ensure()),
      );
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  }
});
