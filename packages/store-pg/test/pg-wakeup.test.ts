import {
  composeModules,
  type OutboxApp,
  OutboxModule,
  type OutboxRow,
  OutboxStore,
  OutboxWakeup,
  OutboxWorker,
} from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { OutboxPgModule, type OutboxPgModuleOptions, PgOutboxStore } from '@postcommit/store-pg';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectClaimsOnListener } from '../../store-sql/test/claims-on-listener.js';
import { countingPool } from '../../store-sql/test/counting-pool.js';
import { listenOn } from '../../store-sql/test/listener.js';
import { fillPlaces } from '../../store-sql/test/notifying-transactions.js';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { WakeupRecord } from '../../store-sql/test/wakeup-record.js';

const fixture = usePostgres();
const entry = { topic: 'order.paid', payload: { id: 1 } };

beforeEach(async () => {
  await fixture.query('truncate outbox');
});

function compose(options: Partial<OutboxPgModuleOptions> = {}): OutboxApp {
  return composeModules([
    OutboxModule.forRoot({ publisher: async () => {}, worker: false }),
    OutboxPgModule.forRoot({ pool: fixture.pool, ...options }),
  ]);
}

async function expectToListen(app: OutboxApp): Promise<void> {
  const record = new WakeupRecord();
  onTestFinished(app.get(OutboxWakeup).subscribe(record));
  expect(await record.next(2)).toEqual(['listening', 'hint']);
}

const isBound = (app: OutboxApp): boolean => [...app.tokens].includes(OutboxWakeup);

/** Tells when its last poll was answered. */
class WatchedStore extends PgOutboxStore {
  lastPoll: Promise<unknown> = Promise.resolve();

  override fetchPending(limit: number): Promise<OutboxRow[]> {
    const poll = super.fetchPending(limit);
    this.lastPoll = poll;
    return poll;
  }
}

describe('a worker on store-pg', () => {
  it('is woken by an enqueue of another process, even if its next poll never comes', async () => {
    const clock = new VirtualClock();
    const store = new WatchedStore(fixture.pool);
    let publish: (topic: string) => void = () => {};
    const published = new Promise<string>((resolve) => {
      publish = resolve;
    });
    const worker = new OutboxWorker(store, async (row) => publish(row.topic), {
      clock,
      wakeup: compose().get(OutboxWakeup),
    });
    const listening = new Promise<void>((resolve) => {
      worker.events.on('wakeup', () => resolve());
    });
    worker.start();
    onTestFinished(async () => {
      await worker.stop();
    });
    await listening;
    // The burst of polls after the first hint ends, and the worker waits for as long as it ever does.
    for (let poll = 0; poll < 20; poll++) {
      await clock.advance(1_000);
      await store.lastPoll;
    }
    await compose().get(OutboxStore).enqueue(entry);
    expect(await published).toBe('order.paid');
  });
});

describe('OutboxPgModule', () => {
  it('listens on a client created like those of the pool, outside of it', async () => {
    const made: pg.ClientConfig[] = [];
    class OwnClient extends pg.Client {
      constructor(config?: pg.ClientConfig) {
        super(config);
        if (config) made.push(config);
      }
    }
    const { hostname, port, pathname, username } = new URL(fixture.url);
    const pool = new pg.Pool({
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: username,
      password: 'hidden by the pool',
      Client: OwnClient,
    });
    onTestFinished(() => pool.end());
    await expectToListen(compose({ pool }));
    expect(pool.totalCount, 'for the probe').toBe(1);
    expect(made.map(({ password }) => password)).toEqual(['hidden by the pool', 'hidden by the pool']);
  });

  it('listens on the configured connection instead', async () => {
    const listenClient = vi.fn(() => new pg.Client({ connectionString: fixture.url }));
    await expectToListen(compose({ pool: countingPool(fixture.pool), listenClient }));
    expect(listenClient).toHaveBeenCalledOnce();
  });

  it('claims on that connection', async () => {
    await expectClaimsOnListener(fixture, async (listenClient) => compose({ listenClient }));
  });

  it('listens only if wakeup is enabled', async () => {
    const listenClient = vi.fn(() => new pg.Client({ connectionString: fixture.url }));
    const app = compose({ listenClient });
    await app.start();
    await app.get(OutboxStore).enqueue(entry);
    await app.stop();
    expect(listenClient).not.toHaveBeenCalled();
  });

  it('lets workers poll if the pool does not expose how it connects', () => {
    expect(isBound(compose({ pool: countingPool(fixture.pool) }))).toBe(false);
    expect(isBound(compose())).toBe(true);
  });

  it('with wakeup: false neither listens nor notifies', async () => {
    const listener = await listenOn(fixture);
    const app = compose({ wakeup: false, listenClient: () => new pg.Client() });
    expect(isBound(app)).toBe(false);
    await app.get(OutboxStore).enqueue(entry);
    expect(await listener.taken()).toEqual([]);
  });

  it('sends a pending notification of a burst at stop', async () => {
    const listener = await listenOn(fixture);
    const app = compose({ clock: new VirtualClock() });
    await app.start();
    await fillPlaces(fixture);
    await app.get(OutboxStore).enqueue(entry);
    expect(await listener.taken()).toEqual([]);
    await app.stop();
    expect(await listener.taken()).toEqual(['']);
  });
});
