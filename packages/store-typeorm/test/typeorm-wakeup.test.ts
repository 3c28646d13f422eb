import { composeModules, type OutboxApp, OutboxModule, OutboxWakeup } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import {
  OutboxTypeormModule,
  type OutboxTypeormModuleOptions,
  TypeormOutboxStore,
} from '@postcommit/store-typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectClaimsOnListener } from '../../store-sql/test/claims-on-listener.js';
import { listenOn } from '../../store-sql/test/listener.js';
import { fillPlaces } from '../../store-sql/test/notifying-transactions.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { WakeupRecord } from '../../store-sql/test/wakeup-record.js';

const fixture = usePostgres();
const entry = { topic: 'order.paid', payload: { id: 1 } };

type Options = Partial<OutboxTypeormModuleOptions>;
type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

function elsewhere(): { url: string } {
  const url = new URL(fixture.url);
  url.pathname = '/postgres';
  return { url: url.href };
}

/** A source that connects as `options` say. */
function source(options: Partial<PostgresDataSourceOptions> = { url: fixture.url }): () => DataSource {
  return () => new DataSource({ type: 'postgres', ...options } as PostgresDataSourceOptions);
}

async function start(options: Options = {}): Promise<OutboxApp> {
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async () => {}, worker: false }),
    OutboxTypeormModule.forRoot({ dataSource: source(), clock: new VirtualClock(), ...options }),
  ]);
  await app.start();
  onTestFinished(() => app.stop());
  return app;
}

/** Waits until the application's wake-up listens. */
async function subscribe(app: OutboxApp): Promise<WakeupRecord> {
  const record = new WakeupRecord();
  onTestFinished(app.get(OutboxWakeup).subscribe(record));
  expect(await record.next(2)).toEqual(['listening', 'hint']);
  return record;
}

function parts(): Pick<PostgresDataSourceOptions, 'host' | 'port' | 'username' | 'password' | 'database'> {
  const { hostname, port, username, password, pathname } = new URL(fixture.url);
  return { host: hostname, port: Number(port), username, password, database: pathname.slice(1) };
}

describe('wake-up on TypeORM', () => {
  it('listens without being configured, and not with wakeup: false', async () => {
    expect([...(await start({ wakeup: false })).tokens]).not.toContain(OutboxWakeup);
    const record = await subscribe(await start());
    await (await start({ wakeup: false })).get(TypeormOutboxStore).enqueue(entry);
    await (await start()).get(TypeormOutboxStore).enqueue(entry);
    expect(await record.next()).toEqual(['hint']);
    expect(record.rest()).toEqual([]);
  });

  it.each<[string, () => Partial<PostgresDataSourceOptions>]>([
    ['its parts', parts],
    [
      'a password from a function',
      () => ({ ...parts(), password: async () => new URL(fixture.url).password }),
    ],
    ['extra', () => ({ extra: { connectionString: fixture.url } })],
    // Notifications do not leave their database, so that they would not arrive on a connection to this replica.
    ['replication', () => ({ replication: { master: { url: fixture.url }, slaves: [elsewhere()] } })],
  ])('listens where the data source connects by %s', async (_, options) => {
    await subscribe(await start({ dataSource: source(options()) }));
  });

  it('says what to pass if the data source is closed, and tries again', async () => {
    const made = await source()().initialize();
    const app = await start({ dataSource: made });
    const wakeup = app.get(OutboxWakeup);
    await made.destroy();
    const record = new WakeupRecord();
    onTestFinished(wakeup.subscribe(record));
    expect(await record.next()).toEqual(['retrying']);
    expect(record.errors).toEqual([
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(/not initialized.*listenClient/),
      }),
    ]);
  });

  it('claims on that connection', async () => {
    await expectClaimsOnListener(fixture, (listenClient) => start({ listenClient }));
  });

  it('notifies when the transaction commits, and at stop before the data source closes', async () => {
    const listener = await listenOn(fixture);
    const app = await start();
    const store = app.get(TypeormOutboxStore);
    await app.get(DataSource).transaction(async (em) => {
      await store.enqueueWith(em, entry);
      expect(await listener.taken()).toEqual([]);
    });
    expect(await listener.taken()).toEqual(['commit']);
    await fillPlaces(fixture);
    await app.get(DataSource).transaction((em) => store.enqueueWith(em, [entry, entry]));
    expect(await listener.taken()).toEqual([]);
    await app.stop();
    expect(await listener.taken()).toEqual(['']);
  });
});
