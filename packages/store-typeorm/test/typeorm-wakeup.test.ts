import { composeModules, type OutboxApp, OutboxModule, OutboxWakeup } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectClaimsOnListener } from '../../store-sql/test/claims-on-listener.js';
import { listenOn } from '../../store-sql/test/listener.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { WakeupRecord } from '../../store-sql/test/wakeup-record.js';

const fixture = usePostgres();
const entry = { topic: 'order.paid', payload: { id: 1 } };

async function start(
  options: { listens?: boolean; wakeup?: boolean; listenClient?: () => pg.Client } = {},
): Promise<OutboxApp> {
  const { listens = false, ...rest } = options;
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async () => {}, worker: false }),
    OutboxTypeormModule.forRoot({
      dataSource: () => new DataSource({ type: 'postgres', url: fixture.url }),
      clock: new VirtualClock(),
      ...rest,
      ...(listens && { listenClient: () => new pg.Client({ connectionString: fixture.url }) }),
    }),
  ]);
  await app.start();
  onTestFinished(() => app.stop());
  return app;
}

describe('wake-up on TypeORM', () => {
  it('listens on the configured connection, and only then', async () => {
    expect([...(await start()).tokens]).not.toContain(OutboxWakeup);
    expect([...(await start({ listens: true, wakeup: false })).tokens]).not.toContain(OutboxWakeup);
    const record = new WakeupRecord();
    onTestFinished((await start({ listens: true })).get(OutboxWakeup).subscribe(record));
    expect(await record.next(2)).toEqual(['listening', 'hint']);
    await (await start()).get(TypeormOutboxStore).enqueue(entry);
    expect(await record.next()).toEqual(['hint']);
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
    expect(await listener.taken()).toEqual(['']);
    await app.get(DataSource).transaction((em) => store.enqueueWith(em, [entry, entry]));
    expect(await listener.taken()).toEqual([]);
    await app.stop();
    expect(await listener.taken()).toEqual(['']);
  });
});
