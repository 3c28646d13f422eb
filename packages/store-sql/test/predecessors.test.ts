import { readdirSync, readFileSync } from 'node:fs';
import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import {
  mysql,
  postgres,
  type SqlDialect,
  type SqlExecutor,
  SqlOutboxSchema,
  SqlOutboxStore,
  sqlite,
} from '@postcommit/store-sql';
import { createConnection } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { useMysql } from './mysql-fixture.js';
import { usePostgres } from './postgres-fixture.js';
import { SqliteDatabase } from './sqlite-database.js';

class Store extends SqlOutboxStore<never> {
  protected assertTransaction(): void {}
}

const FOLDER = new URL('predecessors/', import.meta.url);
/** What earlier versions printed with `outbox:schema`. These files never change: add one for each version. */
const scripts = (dialect: string): string[] =>
  readdirSync(FOLDER).filter((file) => file.startsWith(`${dialect}-`));
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');

interface Predecessor {
  readonly executor: SqlExecutor<never>;
  readonly dialect: SqlDialect;
  readonly now: string;
  run(script: string): Promise<void>;
}

async function expectUpgrade({ executor, dialect, now, run }: Predecessor, file: string): Promise<void> {
  const schema = new SqlOutboxSchema(executor, { dialect });
  await run(read(file));
  await run(`
    insert into outbox (id, topic, payload, available_at) values ('waiting', 't', '{"a": 1}', ${now});
    insert into outbox (id, topic, available_at, claim_token, claimed_at, claimed_until) values ('claimed', 't', ${now}, 'lost', ${now}, ${now});
    insert into outbox (id, topic, available_at, dispatched_at) values ('sent', 't', ${now}, ${now});
    insert into outbox (id, topic, available_at, dead_at, dead_reason, last_error) values ('dead', 't', ${now}, ${now}, 'exhausted', 'no route');
  `);
  expect((await schema.check()).map(({ code }) => code)).not.toContain('FOREIGN_TABLE');
  await schema.ensure();
  expect(await schema.check()).toEqual([]);
  const store = new Store(executor, { dialect, wakeup: false });
  expect(await store.count()).toEqual({ pending: 2, dispatched: 1, dead: 1, total: 4 });
  expect(await store.peek({ state: 'dead' }, 10)).toMatchObject([{ id: 'dead', lastError: 'no route' }]);
  const claimed = [...(await store.fetchPending(10)), ...(await store.fetchPending(10))];
  expect(claimed.map(({ id, payload }) => [id, payload]).sort()).toEqual([
    ['claimed', null],
    ['waiting', { a: 1 }],
  ]);
}

describe('ensure upgrades every earlier version, whose rows keep their states, on PostgreSQL', () => {
  const fixture = usePostgres(async () => {});
  beforeEach(async () => {
    await fixture.query('drop schema public cascade');
    await fixture.query('create schema public');
  });

  it.each(scripts('postgres'))('%s', async (file) => {
    const run = async (script: string): Promise<void> => void (await fixture.pool.query(script));
    await expectUpgrade({ executor: pgExecutor(fixture.pool), dialect: postgres, now: 'now()', run }, file);
  });
});

describeOnMysql('ensure upgrades every earlier version, whose rows keep their states, on MySQL', () => {
  const fixture = useMysql(async () => {});
  beforeEach(async () => {
    await fixture.query(
      'drop table if exists outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused',
    );
  });

  it.each(scripts('mysql'))('%s', async (file) => {
    const run = async (script: string): Promise<void> => {
      const connection = await createConnection({ uri: fixture.url, multipleStatements: true });
      await connection.query(script).finally(() => connection.end());
    };
    await expectUpgrade({ executor: fixture.executor, dialect: mysql, now: fixture.now, run }, file);
  });
});

describe('ensure upgrades every earlier version, whose rows keep their states, on SQLite', () => {
  let database: SqliteDatabase;
  beforeEach(async () => {
    database = await SqliteDatabase.open();
  });
  afterEach(() => database.close());

  it.each(scripts('sqlite'))('%s', async (file) => {
    const run = async (script: string): Promise<void> => {
      // Each statement ends a line, and none has a semicolon inside.
      for (const text of script.split(/;\n/)) if (text.trim() !== '') database.query(text);
    };
    await expectUpgrade({ executor: database.executor, dialect: sqlite, now: '1000', run }, file);
  });
});
