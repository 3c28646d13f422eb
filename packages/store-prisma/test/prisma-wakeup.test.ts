import { composeModules, type OutboxApp, OutboxModule, OutboxWakeup } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import {
  OutboxPrismaModule,
  type OutboxPrismaModuleOptions,
  PrismaClientToken,
  PrismaOutboxStore,
} from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectClaimsOnListener } from '../../store-sql/test/claims-on-listener.js';
import { listenOn } from '../../store-sql/test/listener.js';
import { fillPlaces } from '../../store-sql/test/notifying-transactions.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { WakeupRecord } from '../../store-sql/test/wakeup-record.js';
import { PrismaClient } from './gen/client.js';

const fixture = usePostgres();
const entry = { topic: 'order.paid', payload: { id: 1 } };

type Listening = Pick<OutboxPrismaModuleOptions, 'wakeup' | 'connectionString' | 'listenClient'>;

const clientFactory = () => new PrismaClient({ adapter: new PrismaPg({ connectionString: fixture.url }) });

async function start(options: Listening = {}): Promise<OutboxApp> {
  const app = composeModules([
    OutboxModule.forRoot({ publisher: async () => {}, worker: false }),
    OutboxPrismaModule.forRoot({ clientFactory, clock: new VirtualClock(), ...options }),
  ]);
  await app.start();
  onTestFinished(() => app.stop());
  return app;
}

describe('wake-up on Prisma', () => {
  it('listens at the connection string, and only then', async () => {
    const connectionString = fixture.url;
    expect([...(await start()).tokens]).not.toContain(OutboxWakeup);
    expect([...(await start({ connectionString, wakeup: false })).tokens]).not.toContain(OutboxWakeup);
    const record = new WakeupRecord();
    onTestFinished((await start({ connectionString })).get(OutboxWakeup).subscribe(record));
    expect(await record.next(2)).toEqual(['listening', 'hint']);
    await (await start()).get(PrismaOutboxStore).enqueue(entry);
    expect(await record.next()).toEqual(['hint']);
  });

  it('rejects a connection string that pg does not understand, without showing it', () => {
    for (const connectionString of ['prisma+postgres://accelerate.example/?api_key=secret', 'secret', '']) {
      const error = thrownBy(() => OutboxPrismaModule.forRoot({ clientFactory, connectionString }));
      expect(error).toMatchObject({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('postgres://'),
      });
      expect(String(error)).not.toContain('secret');
    }
  });

  it('rejects a connection string beside a client of the application', () => {
    const options = { connectionString: fixture.url, listenClient: () => new pg.Client() };
    expect(thrownBy(() => OutboxPrismaModule.forRoot({ clientFactory, ...options }))).toMatchObject({
      code: 'INVALID_CONFIG',
    });
  });

  it('claims on that connection', async () => {
    await expectClaimsOnListener(fixture, (listenClient) => start({ listenClient }));
  });

  it('notifies when the transaction commits, and at stop before the client disconnects', async () => {
    const listener = await listenOn(fixture);
    const app = await start();
    const store = app.get(PrismaOutboxStore);
    const client = app.get(PrismaClientToken) as unknown as PrismaClient;
    await client.$transaction(async (tx) => {
      await store.enqueueWith(tx, entry);
      expect(await listener.taken()).toEqual([]);
    });
    expect(await listener.taken()).toEqual(['commit']);
    await fillPlaces(fixture);
    await client.$transaction((tx) => store.enqueueWith(tx, [entry, entry]));
    expect(await listener.taken()).toEqual([]);
    const last: string[] = [];
    const query = vi.spyOn(client, '$queryRawUnsafe').mockImplementationOnce((text, ...values) => {
      last.push('notified');
      query.mockRestore();
      return client.$queryRawUnsafe(text, ...values);
    });
    const disconnect = vi.spyOn(client, '$disconnect').mockImplementationOnce(() => {
      last.push('disconnected');
      disconnect.mockRestore();
      return client.$disconnect();
    });
    await app.stop();
    expect(last).toEqual(['notified', 'disconnected']);
    expect(await listener.taken()).toEqual(['']);
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
