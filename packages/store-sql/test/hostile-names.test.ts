import { SqlOutboxSchema } from '@postcommit/store-sql';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres(async () => {});
const schema = (): SqlOutboxSchema => new SqlOutboxSchema(pgExecutor(fixture.pool));

/** Ends a name or a text that is not quoted right, and leaves a table behind. */
const HOSTILE = `x${process.pid}"; create table owned(); --'\n; create table owned(); --`;
const NAME = `"${HOSTILE.replaceAll('"', '""')}"`;
const NAME_TEXT = `'${NAME.replaceAll("'", "''")}'`;

beforeEach(async () => {
  await fixture.query('drop schema public cascade');
  await fixture.query('create schema public');
});

async function runFixes(): Promise<void> {
  for (const { fix } of await schema().check()) await fixture.pool.query(fix);
}

async function expectNothingOwned(): Promise<void> {
  expect(await fixture.query(`select relname from pg_class where relname = 'owned'`)).toEqual([]);
}

describe('names from the catalog are never executed', () => {
  const CASES: ReadonlyArray<readonly [what: string, by: string]> = [
    ['an index', `create index ${NAME} on outbox (claimed_at)`],
    [
      'an index with a column',
      `alter table outbox add column ${NAME} int; create index ${NAME} on outbox (claimed_at, ${NAME})`,
    ],
    [
      'a sequence',
      `alter table outbox alter column seq drop identity; create sequence ${NAME} cache 20;
      alter table outbox alter column seq set default nextval(${NAME_TEXT})`,
    ],
    [
      'a schema of a sequence',
      `create schema ${NAME}; alter table outbox alter column seq drop identity;
      create sequence ${NAME}.s cache 20; alter table outbox alter column seq set default nextval(${NAME_TEXT.slice(0, -1)}.s')`,
    ],
    ['a type', `create domain ${NAME} as int; alter table outbox alter column max_attempts type ${NAME}`],
    [
      'a constraint',
      `alter table outbox drop constraint outbox_state_check, add constraint ${NAME} check (attempts > -1)`,
    ],
    [
      'a unique index instead of the primary key',
      `alter table outbox add column other int generated always as identity,
      drop constraint outbox_pkey, add constraint ${NAME} primary key (other)`,
    ],
  ];

  afterEach(() => fixture.query(`drop schema if exists ${NAME} cascade`));

  it.each(CASES)('%s: ensure()', async (_what, by) => {
    await schema().ensure();
    await fixture.pool.query(by);
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
    await expectNothingOwned();
  });

  it.each(CASES)('%s: the fix that check() prints', async (_what, by) => {
    await schema().ensure();
    await fixture.pool.query(by);
    expect(await schema().check()).not.toEqual([]);
    await runFixes();
    expect(await schema().check()).toEqual([]);
    await expectNothingOwned();
  });

  it('columns, constraints and indexes of a table to adopt', async () => {
    await fixture.pool.query(`
      create table outbox (id text primary key, ${NAME} int not null, topic text unique, constraint ${NAME} check (topic <> ''))`);
    const plan = await schema().planAdoption();
    expect(plan?.obstacles.map((text) => text.includes(NAME))).toEqual([true, true, false]);
    await fixture.pool.query(
      `alter table outbox alter column ${NAME} drop not null, drop constraint ${NAME}, drop constraint outbox_topic_key`,
    );
    await schema().adopt();
    expect(await schema().check()).toEqual([]);
    await expectNothingOwned();
  });

  it('roles', async () => {
    await fixture.query(`create role ${NAME} login`);
    const url = new URL(fixture.url);
    url.username = encodeURIComponent(HOSTILE);
    const pool = new pg.Pool({ connectionString: url.href });
    try {
      await schema().ensure();
      await fixture.pool.query(`
        grant usage on schema public to ${NAME}; grant select, update on outbox to ${NAME}; alter table outbox enable row level security`);
      const own = new SqlOutboxSchema(pgExecutor(pool));
      const [problem] = await own.check();
      expect(problem?.problem).toContain(`from role ${NAME}`);
      await fixture.pool.query(problem?.fix ?? '');
      expect(await own.check()).toEqual([]);
      await expectNothingOwned();
    } finally {
      await pool.end();
      await fixture.query(`drop owned by ${NAME}`);
      await fixture.query(`drop role ${NAME}`);
    }
  });

  it.each([HOSTILE, `y\\'; create table owned (); --`])('a prepared transaction named %s', async (gid) => {
    // Servers have these turned off by default, so what the catalog would say is given here.
    const record = { kind: 'prepared', name: gid, age_ms: 60_000 };
    // Nobody holds the lock of keyed claims, which is asked for first.
    const answers = [[], [record]];
    const [problem] = await new SqlDiagnostics(async () => answers.shift() ?? []).find({
      transactionAgeMs: 0,
    });
    const literal = problem?.fix.replace(/^rollback prepared (.*);$/s, '$1');
    for (const setting of ['on', 'off']) {
      const options = `-c standard_conforming_strings=${setting} -c escape_string_warning=off`;
      const client = new pg.Client({ connectionString: fixture.url, options });
      await client.connect();
      const { rows } = await client.query(`select ${literal} as gid`).finally(() => client.end());
      expect(rows).toEqual([{ gid }]);
    }
    await expectNothingOwned();
  });
});

it.each([{ table: HOSTILE }, { schema: HOSTILE }])(
  'a configured name with other characters is rejected: %j',
  (options) => {
    expect(() => new SqlOutboxSchema(pgExecutor(fixture.pool), options)).toThrow(/name must be/);
  },
);
