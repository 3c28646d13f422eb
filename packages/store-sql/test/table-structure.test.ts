import { SqlJobLock, SqlOutboxSchema } from '@postcommit/store-sql';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlOutboxPauses } from '../src/capabilities/sql-outbox-pauses.js';
import { SqlOutboxWorkers } from '../src/capabilities/sql-outbox-workers.js';
import { SqlProcessedMessages } from '../src/capabilities/sql-processed-messages.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres(async () => {});
const schema = (): SqlOutboxSchema => new SqlOutboxSchema(pgExecutor(fixture.pool));

beforeEach(async () => {
  await fixture.query('drop schema public cascade');
  await fixture.query('create schema public');
  await schema().ensure();
});

const open: pg.Pool[] = [];
const roles: string[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.end()));
  for (const role of roles.splice(0)) {
    await fixture.query(`drop owned by ${role}`);
    await fixture.query(`drop role ${role}`);
  }
});

/** Roles belong to the whole server, which other runs may use at the same time. */
const unique = (role: string): string => `${role}_${process.pid}`;

/** A role of its own with these rights, and a pool that is logged in as it. */
async function loginAs(role: string, ...grants: string[]): Promise<pg.Pool> {
  roles.push(role);
  await fixture.query(`create role ${role} login`);
  await fixture.query(`grant usage on schema public to ${role}`);
  for (const grant of grants) await fixture.query(`grant ${grant} to ${role}`);
  return poolOf(role);
}

function poolOf(role: string): pg.Pool {
  const url = new URL(fixture.url);
  url.username = role;
  const pool = new pg.Pool({ connectionString: url.href });
  open.push(pool);
  return pool;
}

const schemaAs = (pool: pg.Pool): SqlOutboxSchema => new SqlOutboxSchema(pgExecutor(pool));

describe('a sequence with a cache', () => {
  it.each([
    ['of an identity column', 'alter sequence outbox_seq_seq cache 20'],
    [
      'of a default',
      `alter table outbox alter column seq drop identity; create sequence counter cache 20;
       alter table outbox alter column seq set default nextval('counter')`,
    ],
  ])('%s is required to be fixed, and ensure fixes it', async (_name, by) => {
    await fixture.pool.query(by);
    expect(await schema().check()).toEqual([
      {
        level: 'required',
        problem: expect.stringMatching(/has a cache of 20, which breaks the order of keys/),
        fix: expect.stringMatching(/^alter sequence "public"\."\w+" cache 1;$/),
      },
    ]);
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
  });
});

describe('row-level security', () => {
  const WORKER = ['select, update, delete, insert on outbox'];
  beforeEach(() => fixture.query('alter table outbox enable row level security'));

  it('that hides rows from the worker must be fixed, and its fix reveals them', async () => {
    const pool = await loginAs(unique('hidden_worker'), ...WORKER);
    const [problem, ...others] = await schemaAs(pool).check();
    expect(others).toEqual([]);
    expect(problem).toMatchObject({
      level: 'required',
      problem: expect.stringMatching(/row-level security hides rows .* role "hidden_worker_\d+"/),
    });
    await fixture.query(`insert into outbox (id, topic, payload) values ('a', 't', '{}')`);
    expect(await new PgOutboxStore(pool).fetchPending(10)).toEqual([]);
    await fixture.pool.query(problem?.fix ?? '');
    expect(await schemaAs(pool).check()).toEqual([]);
    expect(await new PgOutboxStore(pool).fetchPending(10)).toHaveLength(1);
  });

  it.each([
    ['a policy for some rows', `create policy some_rows on outbox using (topic = 't')`],
    ['a policy for another role', 'create policy other on outbox to pg_monitor using (true)'],
    ['a policy to read only', 'create policy readers on outbox for select using (true)'],
    [
      'a restrictive policy',
      `create policy all_rows on outbox using (true); create policy few on outbox as restrictive using (topic = 't')`,
    ],
  ])('with %s still hides rows', async (_name, policy) => {
    const pool = await loginAs(unique('partly_hidden'), ...WORKER);
    await fixture.pool.query(policy);
    expect(await schemaAs(pool).check()).toMatchObject([{ level: 'required' }]);
  });

  it.each([
    ['a policy for everybody', 'create policy all_rows on outbox using (true)'],
    [
      'a policy for each command',
      `create policy r on outbox for select using (true); create policy w on outbox for update using (true);
       create policy d on outbox for delete using (true)`,
    ],
    ['a role that bypasses it', `alter role ${unique('sees_all')} bypassrls`],
  ])('with %s hides nothing', async (_name, policy) => {
    const pool = await loginAs(unique('sees_all'), ...WORKER);
    await fixture.pool.query(policy);
    expect(await schemaAs(pool).check()).toEqual([]);
  });

  it('hides nothing from a worker without the right to delete if it may see and update all rows', async () => {
    const pool = await loginAs(unique('keeps_rows'), 'select, update on outbox');
    await fixture.pool.query(`
      create policy r on outbox for select using (true); create policy w on outbox for update using (true)`);
    expect(await schemaAs(pool).check()).toEqual([]);
  });

  it.each([
    ['only inserts', 'insert on outbox'],
    ['inserts and reads', 'insert, select on outbox'],
  ])('does not affect a role that %s', async (_name, grant) => {
    expect(await schemaAs(await loginAs(unique('producer'), grant)).check()).toEqual([]);
  });

  it('does not affect the owner', async () => {
    expect(await schema().check()).toEqual([]);
  });

  it('is never changed by ensure, which reports what to do', async () => {
    const [{ name } = {}] = await fixture.query('select current_user::text as name');
    const owner = unique('table_owner');
    await fixture.query(`create role ${owner} login`);
    roles.push(owner);
    await fixture.pool.query(`
      grant all on schema public to ${owner};
      alter table outbox owner to ${owner}; alter table outbox force row level security`);
    const pool = poolOf(owner);
    await expect(schemaAs(pool).ensure()).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' });
    expect(await fixture.query('select polname from pg_policy')).toEqual([]);
    await fixture.query(`alter table outbox owner to ${String(name)}`);
  });
});

it.each(['on', 'off'])('quote_all_identifiers=%s of a role makes no difference', async (value) => {
  const pool = new pg.Pool({ connectionString: fixture.url, options: `-c quote_all_identifiers=${value}` });
  open.push(pool);
  expect(await schemaAs(pool).check()).toEqual([]);
  await fixture.query('alter table outbox alter column max_attempts type text');
  expect(await schemaAs(pool).check()).toMatchObject([
    { problem: 'column max_attempts is text, not integer' },
  ]);
});

describe('tables with partitions or children', () => {
  const partitioned = async (by: string, key: string): Promise<void> => {
    await fixture.pool.query(`
      alter table outbox rename to single;
      create table outbox (like single including defaults including comments including constraints) partition by ${by};
      create sequence parts_seq owned by outbox.seq;
      alter table outbox alter column seq set default nextval('parts_seq'), add primary key (${key});
      drop table single`);
  };

  it('with children that inherit are refused', async () => {
    await fixture.query('create table child () inherits (outbox)');
    expect(await schema().check()).toMatchObject([
      { level: 'required', problem: expect.stringMatching(/tables that inherit from it/) },
    ]);
    await expect(schema().ensure()).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' });
  });

  it('partitioned by time are refused: an id could exist twice', async () => {
    await partitioned('range (created_at)', 'id, created_at');
    await fixture.query('create table rest partition of outbox default');
    await expect(schema().ensure()).rejects.toMatchObject({
      code: 'SCHEMA_OUTDATED',
      message: expect.stringMatching(/partitioned by created_at, so id can't be unique/),
    });
  });

  it('partitioned by hash of the id are accepted', async () => {
    await partitioned('hash (id)', 'id');
    for (const part of [0, 1]) {
      await fixture.query(
        `create table part_${part} partition of outbox for values with (modulus 2, remainder ${part})`,
      );
    }
    await schema().ensure();
    expect(await schema().check()).toEqual([]);
  });
});

describe('the privileges in the manual', () => {
  it('are enough for a producer: insert', async () => {
    const pool = await loginAs(unique('grants_producer'), 'insert on outbox');
    const store = new PgOutboxStore(pool);
    await store.enqueue([{ id: 'a', topic: 't', payload: {}, key: 'k' }]);
    await expect(store.fetchPending(1)).rejects.toThrow(/permission denied/);
    expect(await fixture.query('select id from outbox')).toEqual([{ id: 'a' }]);
  });

  it('are enough for a worker: select and update, and the tables of workers and pauses', async () => {
    await fixture.query(
      `insert into outbox (id, topic, payload, key) values ('a', 't', '{}', null), ('b', 't', '{}', 'k')`,
    );
    const pool = await loginAs(
      unique('grants_worker'),
      'select, update on outbox',
      'select on outbox_paused',
      'select, insert, update, delete on outbox_workers',
    );
    const store = new PgOutboxStore(pool);
    expect(await store.lookAhead()).toMatchObject({ pausedTopics: [] });
    const workers = new SqlOutboxWorkers(pgExecutor(pool));
    const report = { rowsInFlight: 0, isListening: false, outages: [] };
    for (const id of ['w1', 'w2'])
      await workers.register({ id, host: 'h', pid: 1, version: '1', takeoverMs: 1 }, report);
    const [other] = (await workers.beat('w1', report)) ?? [];
    expect(await workers.declareLost('w2', String(other?.lastSeen))).toBe(true);
    expect(await workers.takeOver('w2')).toBe(0);
    await workers.remove('w1');
    const rows = [...(await store.fetchPending(10)), ...(await store.fetchPending(10))];
    expect(rows.map(({ id }) => id).sort()).toEqual(['a', 'b']);
    for (const { id, claimToken } of rows) {
      expect(await store.settle(String(claimToken), [{ id, kind: 'dispatched' }])).toEqual([id]);
    }
    await expect(store.purgeDispatched({ ageMs: 0 })).rejects.toThrow(/permission denied/);
  });

  it('are enough for operators: delete to purge, the sequence to requeue', async () => {
    await fixture.query(`insert into outbox (id, topic, payload, dead_at) values ('a', 't', '{}', now())`);
    const rights = ['select, update, delete on outbox', 'usage on sequence outbox_seq_seq'];
    const store = new PgOutboxStore(await loginAs(unique('grants_operator'), ...rights));
    expect(await store.requeueWhere({ state: 'dead' }, 10)).toBe(1);
    await fixture.query('update outbox set dispatched_at = now()');
    await store.purgeDispatched({ ageMs: 0 });
    expect(await fixture.query('select id from outbox')).toEqual([]);
  });

  it('are enough for jobs and consumers: the side tables', async () => {
    const pauses = new SqlOutboxPauses(
      pgExecutor(await loginAs(unique('grants_pauses'), 'select, insert, delete on outbox_paused')),
    );
    expect([await pauses.pause('t'), await pauses.resume('t')]).toEqual([true, true]);
    const all = 'select, insert, update, delete on outbox_locks';
    const job = await loginAs(unique('grants_job'), all);
    const lock = await new SqlJobLock(pgExecutor(job)).acquire('sweep', 1_000);
    expect(await lock?.renew(1_000)).toBe(true);
    await lock?.release();
    const consumer = await loginAs(unique('grants_consumer'), 'insert, select on outbox_processed');
    const processed = new SqlProcessedMessages(pgExecutor(consumer));
    const client = await consumer.connect();
    await client.query('begin');
    expect(await processed.processOnce(client, 'mails', 'a', async () => {})).toBe(true);
    await client.query('commit');
    client.release();
    await expect(processed.purge({ ageMs: 0 })).rejects.toThrow(/permission denied/);
    await fixture.query(`grant update, delete on outbox_processed to ${unique('grants_consumer')}`);
    expect(await processed.purge({ ageMs: 0 })).toBe(1);
  });
});
