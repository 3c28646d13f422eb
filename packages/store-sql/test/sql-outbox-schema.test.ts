import type { SchemaProblem } from '@postcommit/core';
import { SqlOutboxSchema, type TableOptions } from '@postcommit/store-sql';
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres(async () => {});

const schemaOf = (options: TableOptions = {}): SqlOutboxSchema =>
  new SqlOutboxSchema(pgExecutor(fixture.pool), options);

beforeEach(async () => {
  await fixture.query('drop schema public cascade');
  await fixture.query('drop schema if exists "App" cascade');
  await fixture.query('create schema public');
});

/** As psql would: the whole text as one simple query. */
async function runScript(text: string): Promise<void> {
  await fixture.pool.query(text);
}

describe('ensure', () => {
  it('prepares an empty database', async () => {
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
  });

  it('does nothing the second time, and keeps the rows', async () => {
    await schemaOf().ensure();
    await fixture.query(`insert into outbox (id, topic) values ('kept', 't')`);
    const before = await fixture.query(`select oid, relfilenode from pg_class where relname like 'outbox%'`);
    await schemaOf().ensure();
    expect(await fixture.query(`select oid, relfilenode from pg_class where relname like 'outbox%'`)).toEqual(
      before,
    );
    expect(await fixture.query('select id, seq::int from outbox')).toEqual([{ id: 'kept', seq: 1 }]);
  });

  it('is safe if eight instances start at once on an empty database', async () => {
    await atOnce(8, (schema) => schema.ensure());
    expect(await schemaOf().check()).toEqual([]);
    const tables = await fixture.query(
      `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`,
    );
    expect(tables.map(({ relname }) => relname)).toEqual([
      'outbox',
      'outbox_locks',
      'outbox_paused',
      'outbox_processed',
      'outbox_workers',
    ]);
  });

  it('upgrades version 1, which had no tables for workers and pauses, and keeps the rows', async () => {
    await schemaOf().ensure();
    await runScript(`
      drop table outbox_workers, outbox_paused;
      comment on column outbox.id is 'Postcommit outbox, schema version 1';
      insert into outbox (id, topic) values ('kept', 't')`);
    expect((await schemaOf().check()).map(({ level, problem }) => [level, problem])).toEqual([
      ['required', 'table "outbox_workers" is missing'],
      ['required', 'table "outbox_paused" is missing'],
      ['tuning', expect.stringContaining("is not 'Postcommit outbox, schema version 2'")],
    ]);
    await atOnce(8, (schema) => schema.ensure());
    expect(await schemaOf().check()).toEqual([]);
    expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
  });

  // Fails if differences are found before the lock, and applied after another instance has fixed them.
  it('is safe if eight instances fix the same table at once', async () => {
    await schemaOf().ensure();
    await runScript(`
      drop index outbox_due;
      alter table outbox drop column headers, drop constraint outbox_pkey, drop constraint outbox_state_check;
      alter table outbox reset (fillfactor);
      drop table outbox_locks`);
    await atOnce(8, (schema) => schema.ensure());
    expect(await schemaOf().check()).toEqual([]);
  });

  // Fails likewise: the conversion runs twice and shifts the times by the session's zone.
  it('converts a timestamp without zone once, even when eight instances start at once', async () => {
    await schemaOf().ensure();
    await runScript(`
      alter table outbox alter column created_at type timestamp without time zone;
      insert into outbox (id, topic, created_at) values ('old', 't', '2020-01-01 12:00:00')`);
    await atOnce(8, (schema) => schema.ensure(), '-c TimeZone=America/New_York');
    const [row] = await fixture.query(`select created_at from outbox where id = 'old'`);
    expect(row?.created_at).toEqual(new Date('2020-01-01T12:00:00Z'));
  });

  it('fails with the statement to run if it can’t fix the table', async () => {
    await schemaOf().ensure();
    await runScript(`
      alter table outbox drop constraint outbox_pkey;
      insert into outbox (id, topic) values ('twice', 't'), ('twice', 't')`);
    await expect(schemaOf().ensure()).rejects.toThrow();
    expect(await fixture.query('select id from outbox')).toHaveLength(2);
  });
});

describe('print', () => {
  it('returns a script that prepares an empty database', async () => {
    await runScript(schemaOf().print());
    expect(await schemaOf().check()).toEqual([]);
  });

  it('returns a script that can be run again', async () => {
    await runScript(schemaOf().print());
    await runScript(schemaOf().print());
    expect(await schemaOf().check()).toEqual([]);
  });
});

interface Damage {
  readonly name: string;
  readonly by: string;
  readonly level: SchemaProblem['level'];
  readonly problem: RegExp;
}

const DAMAGES: readonly Damage[] = [
  ...['payload', 'headers', 'last_error', 'max_attempts', 'backoff', 'dead_reason', 'retakes'].map(
    (column): Damage => ({
      name: `column ${column} dropped`,
      by: `alter table outbox drop column ${column}`,
      level: 'required',
      problem: new RegExp(`^column ${column} is missing$`),
    }),
  ),
  ...['due', 'keyed_due', 'keyed', 'claimed_key', 'dispatched', 'dead'].map(
    (suffix): Damage => ({
      name: `index outbox_${suffix} dropped`,
      by: `drop index outbox_${suffix}`,
      level: 'required',
      problem: new RegExp(`^index outbox_${suffix} .* is missing$`),
    }),
  ),
  {
    name: 'an index with another predicate',
    by: `drop index outbox_due;
      create index outbox_due on outbox (available_at, seq) where dispatched_at is null and key is null`,
    level: 'required',
    problem: /^index outbox_due .* has other columns or another predicate, or is not valid$/,
  },
  {
    name: 'an index without a predicate',
    by: 'drop index outbox_keyed; create index outbox_keyed on outbox (key, seq)',
    level: 'required',
    problem: /^index outbox_keyed .* has other columns or another predicate/,
  },
  {
    name: 'an index of the outbox’s name on other columns',
    by: `drop index outbox_keyed;
      create index outbox_keyed on outbox (seq, key)
      where dispatched_at is null and dead_at is null and key is not null`,
    level: 'required',
    problem: /^index outbox_keyed .* has other columns/,
  },
  {
    name: 'an index that is not valid, as a broken CREATE INDEX CONCURRENTLY leaves it',
    by: `update pg_index set indisvalid = false where indexrelid = 'outbox_due'::regclass`,
    level: 'required',
    problem: /^index outbox_due .* or is not valid$/,
  },
  ...['claim', 'state'].map(
    (suffix): Damage => ({
      name: `constraint outbox_${suffix}_check dropped`,
      by: `alter table outbox drop constraint outbox_${suffix}_check`,
      level: 'required',
      problem: new RegExp(`^constraint "outbox_${suffix}_check" is missing`),
    }),
  ),
  {
    name: 'a constraint of the outbox’s name with another condition',
    by: `alter table outbox drop constraint outbox_state_check,
      add constraint outbox_state_check check (dispatched_at is null or attempts > 0)`,
    level: 'required',
    problem: /^constraint "outbox_state_check" is missing/,
  },
  ...['created_at', 'claimed_at', 'claimed_until'].map(
    (column): Damage => ({
      name: `${column} a timestamp without zone`,
      by: `alter table outbox alter column ${column} type timestamp without time zone`,
      level: 'required',
      problem: new RegExp(`^column ${column} is a timestamp without zone`),
    }),
  ),
  {
    name: 'a default dropped',
    by: 'alter table outbox alter column available_at drop default',
    level: 'required',
    problem: /^column available_at has no default$/,
  },
  {
    name: 'a harmful index on claimed_at',
    by: 'create index outbox_claimed_at_idx on outbox (claimed_at)',
    level: 'tuning',
    problem: /^index outbox_claimed_at_idx on \(claimed_at\) makes every claim write every index$/,
  },
  {
    name: 'fillfactor reset',
    by: 'alter table outbox reset (fillfactor)',
    level: 'tuning',
    problem: /^storage settings differ: fillfactor = 45 is advised$/,
  },
  {
    name: 'another autovacuum threshold',
    by: 'alter table outbox set (autovacuum_vacuum_threshold = 50)',
    level: 'tuning',
    problem: /^storage settings differ: autovacuum_vacuum_threshold = 10000 is advised$/,
  },
  ...['locks', 'processed', 'workers', 'paused'].map(
    (suffix): Damage => ({
      name: `side table outbox_${suffix} dropped`,
      by: `drop table outbox_${suffix}`,
      level: 'required',
      problem: new RegExp(`^table "outbox_${suffix}" is missing$`),
    }),
  ),
  {
    name: 'primary key dropped',
    by: 'alter table outbox drop constraint outbox_pkey',
    level: 'required',
    problem: /^id is not unique$/,
  },
  {
    name: 'a column of another type',
    by: 'alter table outbox alter column attempts drop default, alter column attempts type text',
    level: 'required',
    problem: /^column attempts is text, not integer$/,
  },
  {
    name: 'a harmful index that only includes claimed_until',
    by: 'create index "harmful Include" on outbox (topic) include (claimed_until)',
    level: 'tuning',
    problem: /harmful Include/,
  },
  {
    name: 'a harmful index that has claimed_at in its predicate',
    by: 'create index harmful_predicate on outbox (topic) where claimed_at is null',
    level: 'tuning',
    problem: /harmful_predicate/,
  },
  {
    name: 'primary key replaced by a partial unique index, which lets duplicates in',
    by: `alter table outbox drop constraint outbox_pkey;
      create unique index partly_unique on outbox (id) where dead_at is null`,
    level: 'required',
    problem: /^id is not unique$/,
  },
  {
    name: 'seq without a sequence',
    by: 'alter table outbox alter column seq drop identity',
    level: 'required',
    problem: /^column seq must be a bigint with a sequence$/,
  },
];

describe('check names each problem, and its fix works', () => {
  beforeEach(async () => {
    await schemaOf().ensure();
    await fixture.query(`insert into outbox (id, topic, payload) values ('kept', 't', '{}')`);
  });

  const isNamedAndMended = async ({ by, level, problem }: Damage): Promise<void> => {
    await runScript(by);
    const problems = await schemaOf().check();
    expect(problems.map((found) => found.level)).toEqual([level]);
    expect(problems[0]?.problem).toMatch(problem);
    await runScript(problems[0]?.fix ?? '');
    expect(await schemaOf().check()).toEqual([]);
    expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
  };

  it.each(DAMAGES)('$name', isNamedAndMended);

  it.each(DAMAGES)('ensure fixes: $name', async ({ by }) => {
    await runScript(by);
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
    expect(await fixture.query('select id from outbox')).toEqual([{ id: 'kept' }]);
  });

  it('a dropped column drops its indexes and constraints: each is named, and ensure fixes all', async () => {
    await runScript('alter table outbox drop column available_at, drop column claimed_until');
    const problems = (await schemaOf().check()).map(({ problem }) => problem);
    expect(problems).toEqual([
      'column available_at is missing',
      'column claimed_until is missing',
      expect.stringMatching(/^index outbox_due /),
      expect.stringMatching(/^index outbox_keyed_due /),
      expect.stringMatching(/^constraint "outbox_claim_check"/),
    ]);
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
    const [row] = await fixture.query('select available_at = created_at as same from outbox');
    expect(row).toEqual({ same: true });
  });

  it('several problems are all named, and ensure fixes all', async () => {
    await runScript(`
      drop index outbox_due;
      drop table outbox_locks;
      alter table outbox drop column headers, drop constraint outbox_pkey, reset (fillfactor);
      create index on outbox (claimed_at)`);
    const levels = (await schemaOf().check()).map(({ level }) => level);
    expect(levels).toEqual(['required', 'required', 'required', 'required', 'tuning', 'tuning']);
    await schemaOf().ensure();
    expect(await schemaOf().check()).toEqual([]);
  });

  it('a table of the same name in another schema is not mistaken for the outbox', async () => {
    await fixture.query('create schema "App"');
    const [problem, ...others] = await schemaOf({ schema: 'App' }).check();
    expect(problem).toMatchObject({ level: 'required', problem: 'table "App"."outbox" does not exist' });
    expect(others).toEqual([]);
  });

  it('additional columns and harmless indexes are accepted', async () => {
    await runScript('alter table outbox add column tenant text; create index on outbox (tenant)');
    expect(await schemaOf().check()).toEqual([]);
  });
});

describe('table and schema names', () => {
  const options: TableOptions = { schema: 'App', table: 'OrderMessages' };

  it('are quoted everywhere: mixed case works', async () => {
    await fixture.query('create schema "App"');
    const schema = schemaOf(options);
    await schema.ensure();
    expect(await schema.check()).toEqual([]);
    const tables = await fixture.query(
      `select tablename from pg_tables where schemaname = 'App' order by tablename`,
    );
    expect(tables.map(({ tablename }) => tablename)).toEqual([
      'OrderMessages',
      'OrderMessages_locks',
      'OrderMessages_paused',
      'OrderMessages_processed',
      'OrderMessages_workers',
    ]);
    await runScript(
      'drop index "App"."OrderMessages_due"; create index on "App"."OrderMessages" (claimed_at)',
    );
    for (const { fix } of await schema.check()) await runScript(fix);
    expect(await schema.check()).toEqual([]);
  });

  it('are quoted in what is printed, too', async () => {
    await fixture.query('create schema "App"');
    await runScript(schemaOf(options).print());
    expect(await schemaOf(options).check()).toEqual([]);
  });

  it('may have the maximum length', async () => {
    const table = `o${'x'.repeat(39)}`;
    await schemaOf({ table }).ensure();
    expect(await schemaOf({ table }).check()).toEqual([]);
  });

  it('may be a keyword', async () => {
    await schemaOf({ table: 'order' }).ensure();
    expect(await schemaOf({ table: 'order' }).check()).toEqual([]);
  });
});

/** Each on a pool of its own, all let go at the same moment. */
async function atOnce(
  count: number,
  work: (schema: SqlOutboxSchema) => Promise<void>,
  options = '',
): Promise<void> {
  const pools = Array.from(
    { length: count },
    () => new pg.Pool({ connectionString: fixture.url, options, max: 2 }),
  );
  try {
    await Promise.all(pools.map((pool) => pool.query('select 1')));
    await Promise.all(pools.map((pool) => work(new SqlOutboxSchema(pgExecutor(pool)))));
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
  }
}
