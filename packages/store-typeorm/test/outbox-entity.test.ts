import { SqlOutboxSchema } from '@postcommit/store-sql';
import {
  OutboxEntity,
  outboxEntities,
  outboxEntitiesFor,
  TypeormOutboxStore,
  typeormDatabase,
} from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { afterEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';

const fixture = usePostgres(async () => {});

describe.each([
  { place: 'under the default names', options: {} },
  { place: 'under names of one’s own', options: { table: 'messages', schema: 'app' } },
])('the entities, $place', ({ options }) => {
  const open: DataSource[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((dataSource) => dataSource.destroy()));
    await fixture.query('drop schema public cascade');
    await fixture.query('create schema public');
    await fixture.query('drop schema if exists app cascade');
  });

  async function connect(synchronize = false): Promise<{ dataSource: DataSource; schema: SqlOutboxSchema }> {
    await fixture.query('create schema if not exists app');
    const entities = outboxEntitiesFor(options);
    const dataSource = new DataSource({ type: 'postgres', url: fixture.url, entities, synchronize });
    open.push(await dataSource.initialize());
    return { dataSource, schema: new SqlOutboxSchema(typeormDatabase(dataSource).executor, options) };
  }

  /** What `synchronize` would do, and a generated migration would hold. */
  async function pendingChanges(dataSource: DataSource): Promise<string[]> {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  }

  it('describe what ensure creates: there is nothing left to synchronize, however often', async () => {
    const { dataSource, schema } = await connect();
    await schema.ensure();
    expect(await pendingChanges(dataSource)).toEqual([]);
    await dataSource.synchronize();
    await dataSource.synchronize();
    expect(await schema.check()).toEqual([]);
  });

  it('create a working table by synchronize alone; ensure then only tunes it', async () => {
    const { dataSource, schema } = await connect(true);
    expect((await schema.check()).filter(({ level }) => level === 'required')).toEqual([]);
    const store = new TypeormOutboxStore(dataSource, options);
    await store.enqueue([
      { topic: 'a', payload: 1 },
      { topic: 'b', payload: 2, key: 'k' },
    ]);
    expect(await store.fetchPending(10)).toHaveLength(2);

    await schema.ensure();
    expect(await schema.check()).toEqual([]);
    expect(await pendingChanges(dataSource)).toEqual([]);
    await dataSource.synchronize();
    expect(await schema.check()).toEqual([]);
    expect((await store.count()).pending).toBe(2);
  });

  it('create the same tables as ensure, name for name', async () => {
    await connect(true);
    const synchronized = await catalog();
    await fixture.query('drop schema public cascade');
    await fixture.query('create schema public');
    await fixture.query('drop schema app cascade');
    const { schema } = await connect();
    await schema.ensure();
    expect(synchronized).toEqual(await catalog());
  });
});

it('the entity reads rows through a repository', async () => {
  const dataSource = await new DataSource({
    type: 'postgres',
    url: fixture.url,
    entities: [...outboxEntities],
    synchronize: true,
  }).initialize();
  const [id] = await new TypeormOutboxStore(dataSource).enqueue({
    topic: 'order.paid',
    payload: { id: 7 },
    key: 'order-7',
  });
  const record = await dataSource.getRepository(OutboxEntity).findOneByOrFail({ key: 'order-7' });
  expect(record).toMatchObject({
    id,
    topic: 'order.paid',
    payload: { id: 7 },
    attempts: 0,
    dispatchedAt: null,
    seq: '1',
  });
  await dataSource.destroy();
});

/** Columns, indexes and constraints as PostgreSQL itself prints them. */
async function catalog(): Promise<unknown> {
  return {
    columns: await fixture.query(`
      select table_schema, table_name, column_name, data_type, character_maximum_length, datetime_precision,
        column_default, is_nullable, is_identity, identity_generation,
        col_description(format('%I.%I', table_schema, table_name)::regclass, ordinal_position::int) as comment
      from information_schema.columns where table_schema in ('public', 'app') order by 1, 2, 3`),
    indexes: await fixture.query(
      "select schemaname, indexname, indexdef from pg_indexes where schemaname in ('public', 'app') order by 1, 2",
    ),
    constraints: await fixture.query(`
      select conname, conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
      from pg_constraint where connamespace::regnamespace::text in ('public', 'app') and contype <> 'n' order by 1, 2`),
  };
}
