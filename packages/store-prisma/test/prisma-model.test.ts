import { readFile } from 'node:fs/promises';
import type { OutboxRow, SchemaProblem } from '@postcommit/core';
import { OutboxDispatcher } from '@postcommit/core';
import { PrismaOutboxStore } from '@postcommit/store-prisma';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { prismaExecutor } from '../src/prisma-executor.js';
import { usePrisma } from './prisma-stores.js';

const fixture = usePostgres(async () => {});
const prisma = usePrisma(fixture);

let store: PrismaOutboxStore;
let schema: SqlOutboxSchema;

beforeEach(async () => {
  await fixture.query(
    'drop table if exists outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused',
  );
  store = new PrismaOutboxStore(prisma.client);
  schema = new SqlOutboxSchema(prismaExecutor(prisma.client));
});

async function drain(): Promise<string[]> {
  const published: string[] = [];
  const publisher = async ({ id }: OutboxRow): Promise<void> => {
    published.push(id);
  };
  const dispatcher = new OutboxDispatcher(store, publisher);
  await dispatcher.dispatchPending(100);
  return published;
}

/** What `prisma migrate` makes of the Prisma model in document 002. */
const SPECIFIED_TABLE = `
  CREATE TABLE "outbox" (
    "id" VARCHAR(36) NOT NULL,
    "topic" VARCHAR(255) NOT NULL,
    "payload" JSONB,
    "created_at" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "dispatched_at" TIMESTAMP(3),
    "dead_at" TIMESTAMP(3),
    "claimed_at" TIMESTAMP(3),
    "claim_token" VARCHAR(36),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
  );
  CREATE INDEX "idx_outbox_pending" ON "outbox"("dispatched_at", "dead_at", "created_at");
  CREATE INDEX "idx_outbox_claimed" ON "outbox"("claimed_at")`;

/** Prisma writes UTC, whatever the zone of the session. Inserted youngest first, on purpose. */
const SPECIFIED_ROWS = `
  insert into outbox (id, topic, payload, created_at, dispatched_at, dead_at, claimed_at, claim_token, attempts, last_error)
  select r.id, 'order.paid', jsonb_build_object('id', r.id), t.now - r.age, t.now - r.dispatched, t.now - r.dead,
    t.now - r.claimed, case when r.claimed is not null then 'token-' || r.id end, r.attempts, r.last_error
  from (select clock_timestamp() at time zone 'UTC' as now) t, (values
    ('claimed',    interval '1 hour',  null::interval,     null::interval,     interval '1 minute', 1, 'broker down'),
    ('orphaned',   interval '2 hours', null,               null,               interval '1 hour',   0, null),
    ('failed',     interval '3 hours', null,               null,               null,                2, 'broker down'),
    ('pending',    interval '4 hours', null,               null,               null,                0, null),
    ('dead',       interval '5 hours', null,               interval '3 hours', null,                9, 'no such address'),
    ('dispatched', interval '6 hours', interval '5 hours', null,               interval '5 hours',  0, null)
  ) as r(id, age, dispatched, dead, claimed, attempts, last_error)`;

describe('a table from the specification’s own model', () => {
  beforeEach(async () => {
    await fixture.query(SPECIFIED_TABLE);
    await fixture.query(SPECIFIED_ROWS);
  });

  it('is rejected until it is upgraded', async () => {
    const outdated = { code: 'SCHEMA_OUTDATED', message: expect.stringContaining('outbox:migrate') };
    await expect(store.fetchPending(10)).rejects.toMatchObject(outdated);
    await expect(store.enqueue({ topic: 'order.paid', payload: {} })).rejects.toMatchObject(outdated);
    const inside = prisma.client.$transaction((tx) =>
      store.enqueueWith(tx, { topic: 'order.paid', payload: {} }),
    );
    await expect(inside).rejects.toMatchObject(outdated);
    expect(await fixture.query('select id from outbox')).toHaveLength(6);
  });

  it('is reported with its differences, each with the statement that fixes it', async () => {
    const problems = await schema.check();
    const added =
      'key headers available_at dead_reason retakes claimed_until claimed_key max_attempts backoff seq';
    for (const column of added.split(' ')) {
      expectProblem(
        problems,
        'required',
        `column ${column} is missing`,
        `add column if not exists "${column}"`,
      );
    }
    for (const column of ['created_at', 'dispatched_at', 'dead_at', 'claimed_at']) {
      expectProblem(
        problems,
        'required',
        `column ${column} is a timestamp without zone`,
        "at time zone 'UTC'",
      );
    }
    expectProblem(problems, 'required', 'index outbox_due', 'create index');
    expectProblem(
      problems,
      'tuning',
      'index idx_outbox_claimed',
      'drop index if exists "idx_outbox_claimed"',
    );
    expect(problems.filter(({ fix }) => fix === '')).toEqual([]);
  });

  it('keeps the states of its rows and its live claim through the upgrade', async () => {
    await schema.ensure();
    expect(await schema.check()).toEqual([]);
    expect(await store.count()).toEqual({ pending: 4, dispatched: 1, dead: 1, total: 6 });
    const [dead] = await store.peek({ state: 'dead' }, 10);
    expect(dead).toMatchObject({
      id: 'dead',
      attempts: 9,
      lastError: 'no such address',
      payload: { id: 'dead' },
    });
    const [{ hours } = {}] = await fixture.query(
      `select round(extract(epoch from now() - created_at) / 3600)::int as hours from outbox where id = 'pending'`,
    );
    expect(hours).toBe(4);
  });

  it('is then dispatched in its old order, the orphan alone, the claimed row when its claim ends', async () => {
    await schema.ensure();
    const rounds = [await drain(), await drain(), await drain()];
    expect(rounds).toEqual([['orphaned'], ['pending', 'failed'], []]);
    expect(await store.settle('token-claimed', [{ id: 'claimed', kind: 'dispatched' }])).toEqual(['claimed']);
    await store.requeue('dead');
    await prisma.client.$transaction((tx) =>
      store.enqueueWith(tx, { id: 'new', topic: 'order.paid', payload: {} }),
    );
    expect(await drain()).toEqual(['dead', 'new']);
    expect(await store.count()).toEqual({ pending: 0, dispatched: 7, dead: 0, total: 7 });
    expect(await schema.check()).toEqual([]);
  });
});

describe('the model to paste', () => {
  const MIGRATED_TABLE = `
    CREATE TABLE "outbox" (
      "id" VARCHAR(36) NOT NULL,
      "topic" VARCHAR(255) NOT NULL,
      "payload" JSONB,
      "key" VARCHAR(255),
      "headers" JSONB,
      "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
      "available_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
      "dispatched_at" TIMESTAMPTZ(6),
      "dead_at" TIMESTAMPTZ(6),
      "dead_reason" VARCHAR(20),
      "attempts" INTEGER NOT NULL DEFAULT 0,
      "retakes" INTEGER NOT NULL DEFAULT 0,
      "last_error" TEXT,
      "claim_token" VARCHAR(36),
      "claimed_at" TIMESTAMPTZ(6),
      "claimed_until" TIMESTAMPTZ(6),
      "claimed_key" VARCHAR(255),
      "max_attempts" INTEGER,
      "backoff" JSONB,
      "seq" BIGSERIAL NOT NULL,
      CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
    );
    CREATE TABLE "outbox_locks" (
      "name" VARCHAR(255) NOT NULL,
      "token" VARCHAR(36) NOT NULL,
      "locked_until" TIMESTAMPTZ(6) NOT NULL,
      CONSTRAINT "outbox_locks_pkey" PRIMARY KEY ("name")
    );
    CREATE TABLE "outbox_processed" (
      "consumer" VARCHAR(255) NOT NULL,
      "row_id" VARCHAR(36) NOT NULL,
      "processed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
      CONSTRAINT "outbox_processed_pkey" PRIMARY KEY ("consumer", "row_id")
    );
    CREATE INDEX "outbox_processed_at" ON "outbox_processed"("processed_at");
    CREATE TABLE "outbox_workers" (
      "id" VARCHAR(24) NOT NULL,
      "host" VARCHAR(255) NOT NULL,
      "pid" INTEGER NOT NULL,
      "version" VARCHAR(255) NOT NULL,
      "started_at" TIMESTAMPTZ(6) NOT NULL,
      "last_seen" TIMESTAMPTZ(6) NOT NULL,
      "takeover_ms" INTEGER NOT NULL,
      "rows_in_flight" INTEGER NOT NULL,
      "is_listening" BOOLEAN NOT NULL,
      "outages" TEXT NOT NULL,
      "lost_at" TIMESTAMPTZ(6),
      CONSTRAINT "outbox_workers_pkey" PRIMARY KEY ("id")
    );
    CREATE TABLE "outbox_paused" (
      "topic" VARCHAR(255) NOT NULL,
      "paused_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
      CONSTRAINT "outbox_paused_pkey" PRIMARY KEY ("topic")
    )`;

  it('names every column of every table, and no other', async () => {
    await schema.ensure();
    const columns = await fixture.query(
      `select table_name || '.' || column_name as column from information_schema.columns where table_schema = 'public' and table_name like 'outbox%'`,
    );
    expect(new Set(await modelColumns())).toEqual(new Set(columns.map(({ column }) => column)));
  });

  it('is the same in the README and in the file', async () => {
    const [model] = /^model Outbox \{.*?^\}$/ms.exec(await packageFile('outbox.prisma')) ?? [];
    expect(await packageFile('README.md')).toContain(model);
  });

  it('reads what the store wrote', async () => {
    await schema.ensure();
    const availableAt = new Date('2030-01-01T00:00:00Z');
    await store.enqueue({ id: 'm1', topic: 'order.paid', key: 'o1', payload: { id: 1 }, availableAt });
    expect(await prisma.client.outbox.findUnique({ where: { id: 'm1' } })).toMatchObject({
      topic: 'order.paid',
      key: 'o1',
      payload: { id: 1 },
      availableAt,
      claimToken: null,
      seq: 1n,
    });
  });

  it('migrated by Prisma alone lacks only indexes, checks, storage settings and the mark', async () => {
    await fixture.query(MIGRATED_TABLE);
    const kinds = (await schema.check()).map(({ problem }) => problem.replace(/ .*/s, ''));
    expect(new Set(kinds)).toEqual(new Set(['index', 'constraint', 'storage', 'comment']));
    await schema.ensure();
    expect(await schema.check()).toEqual([]);
    await store.enqueue(['b', 'a'].map((id) => ({ id, topic: 'order.paid', payload: {} })));
    expect(await drain()).toEqual(['b', 'a']);
    await store.requeue('b');
    expect(await drain()).toEqual(['b']);
  });

  it('reveals what Prisma dropped, and ensure restores it', async () => {
    await schema.ensure();
    await fixture.query('drop index outbox_keyed; alter table outbox drop constraint outbox_state_check');
    const problems = await schema.check();
    expect(problems).toHaveLength(2);
    expectProblem(problems, 'required', 'index outbox_keyed', 'create index');
    expectProblem(problems, 'required', 'constraint "outbox_state_check"', 'add constraint');
    await schema.ensure();
    expect(await schema.check()).toEqual([]);
  });
});

function expectProblem(
  problems: readonly SchemaProblem[],
  level: SchemaProblem['level'],
  problem: string,
  fix: string,
): void {
  expect(problems).toContainEqual({
    level,
    problem: expect.stringContaining(problem),
    fix: expect.stringContaining(fix),
  });
}

/** `table.column` of every field in outbox.prisma. */
async function modelColumns(): Promise<string[]> {
  const text = await packageFile('outbox.prisma');
  return text.split(/^model /m).flatMap((model) => {
    const table = /@@map\("(\w+)"\)/.exec(model)?.[1];
    const fields = [...model.matchAll(/^ {2}(\w+) +[A-Z].*$/gm)];
    return fields.map(([line, name]) => `${table}.${/@map\("(\w+)"\)/.exec(line)?.[1] ?? name}`);
  });
}

function packageFile(name: string): Promise<string> {
  return readFile(new URL(`../${name}`, import.meta.url), 'utf8');
}
