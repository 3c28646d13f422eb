import { OutboxWorker } from '@postcommit/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ensureSchema, shiftTimes, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { LogLines } from './nest-app.js';
import { NestProcess } from './nest-process.js';
import { openShop, postOrders, SHOP_TABLES, type ShopOptions } from './shop.js';

const fixture = usePostgres(async (postgres) => {
  await ensureSchema(postgres);
  await postgres.query(SHOP_TABLES);
});

const patience = { timeout: 120_000 };
const eventually = { timeout: 30_000, interval: 20 };

async function clear(): Promise<void> {
  await fixture.query('truncate outbox, orders, handled');
}

async function count(from: string): Promise<number> {
  const [record] = await fixture.query(`select count(*)::int as n from ${from}`);
  return Number(record?.n);
}

const claimed = (): Promise<number> =>
  count('outbox where claim_token is not null and dispatched_at is null');
const handled = async (): Promise<unknown[]> =>
  (await fixture.query('select order_id, attempt from handled order by order_id')).map((row) =>
    Object.values(row),
  );

/** What keeps handlers in other processes waiting, until it is released. */
async function holdHandlers(lock: number): Promise<() => Promise<void>> {
  const session = await fixture.pool.connect();
  await session.query('select pg_advisory_lock($1)', [lock]);
  const release = async (): Promise<void> => {
    await session.query('select pg_advisory_unlock_all()');
  };
  onTestFinished(async () => {
    await release();
    session.release();
  });
  return release;
}

describe.each(['prisma', 'typeorm'] as const)('a shop on %s', (orm) => {
  const open = async (
    options: Pick<ShopOptions, 'handle' | 'outbox'>,
    logger: LogLines | false = false,
  ): Promise<Awaited<ReturnType<typeof openShop>>> => {
    const shop = await openShop({ orm, url: fixture.url, ...options }, logger);
    onTestFinished(() => shop.nest.close());
    return shop;
  };

  it('handles what a request committed, and nothing that was rolled back', patience, async () => {
    await clear();
    const orders: string[] = [];
    const shop = await open({
      handle: async ({ orderId }) => {
        orders.push(orderId);
      },
    });
    expect(await postOrders(shop.url, ['lost'], true)).toBe(500);
    expect(await postOrders(shop.url, ['o1', 'o2'])).toBe(201);
    await vi.waitUntil(async () => (await count('outbox where dispatched_at is not null')) === 2, eventually);
    expect(orders).toEqual(['o1', 'o2']);
    expect(await count('outbox')).toBe(2);
    expect(await count('orders')).toBe(2);
    const [row] = await fixture.query('select max_attempts, backoff from outbox');
    expect(row).toEqual({ max_attempts: 5, backoff: { type: 'exponential', delayMs: 1_000 } });
  });

  it('shares the events between two instances, each handled by one of them', patience, async () => {
    await clear();
    const ledger: [instance: string, order: string][] = [];
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    // What the first has claimed waits, so that the second surely takes part.
    const outbox = { polling: { batchSize: 5, interval: 50 } };
    const first = await open({
      outbox,
      handle: async ({ orderId }) => {
        await released;
        ledger.push(['first', orderId]);
      },
    });
    const ids = Array.from({ length: 60 }, (_, index) => `o${index}`);
    await postOrders(first.url, ids);
    await vi.waitUntil(async () => (await claimed()) > 0, eventually);
    await open({
      outbox,
      handle: async ({ orderId }) => {
        ledger.push(['second', orderId]);
      },
    });
    await vi.waitUntil(() => ledger.some(([instance]) => instance === 'second'), eventually);
    release();
    await vi.waitUntil(
      async () => (await count('outbox where dispatched_at is not null')) === 60,
      eventually,
    );
    expect(ledger.map(([, order]) => order).sort()).toEqual([...ids].sort());
    expect(new Set(ledger.map(([instance]) => instance))).toEqual(new Set(['first', 'second']));
  });

  it('leaves nothing claimed and nothing running when it is closed', patience, async () => {
    await clear();
    const shop = await open({ handle: async () => {} });
    const worker = shop.nest.get(OutboxWorker);
    await postOrders(shop.url, ['o1']);
    await shop.nest.close();
    expect(await claimed()).toBe(0);
    expect(await worker.health()).toMatchObject({ status: 'stopped', rowsInFlight: 0 });
  });

  it(
    'ends on SIGTERM: running handlers finish, and the rest goes to another instance',
    patience,
    async () => {
      await clear();
      const lock = orm === 'prisma' ? 1 : 2;
      const release = await holdHandlers(lock);
      const environment = { DATABASE_URL: fixture.url, ORM: orm, HANDLER_LOCK: String(lock) };
      const one = new NestProcess('./fixtures/shop-process.ts', { ...environment, INSTANCE: 'one' });
      await postOrders(await one.says(/listening on (.*)/), ['o1', 'o2', 'o3', 'o4', 'o5']);
      await one.says(/handling o1/);
      expect(await claimed()).toBe(5);

      one.signal('SIGTERM');
      // Those that had not begun are given back at once, while the first is still being handled.
      await vi.waitUntil(async () => (await claimed()) === 1, eventually);
      await release();
      expect(await one.ended()).toBe('SIGTERM');
      expect(await claimed()).toBe(0);
      expect(await handled()).toEqual([['o1', 1]]);
      expect(await count('outbox where dispatched_at is not null')).toBe(1);

      const two = new NestProcess('./fixtures/shop-process.ts', { ...environment, INSTANCE: 'two' });
      await two.says(/handling o5/);
      await vi.waitUntil(
        async () => (await count('outbox where dispatched_at is not null')) === 5,
        eventually,
      );
      two.signal('SIGTERM');
      expect(await two.ended()).toBe('SIGTERM');
      expect(await handled()).toEqual(['o1', 'o2', 'o3', 'o4', 'o5'].map((order) => [order, 1]));
    },
  );

  it('takes over the events of an instance that was killed, with a warning', patience, async () => {
    await clear();
    const lock = orm === 'prisma' ? 3 : 4;
    await holdHandlers(lock);
    const environment = {
      DATABASE_URL: fixture.url,
      ORM: orm,
      HANDLER_LOCK: String(lock),
      INSTANCE: 'killed',
    };
    const killed = new NestProcess('./fixtures/shop-process.ts', environment);
    await postOrders(await killed.says(/listening on (.*)/), ['o1', 'o2']);
    await killed.says(/handling o1/);
    killed.signal('SIGKILL');
    expect(await killed.ended()).toBe('SIGKILL');
    expect(await claimed()).toBe(2);

    await shiftTimes(fixture, 300_001);
    const log = new LogLines();
    const orders: string[] = [];
    await open(
      {
        handle: async ({ orderId }) => {
          orders.push(orderId);
        },
      },
      log,
    );
    await vi.waitUntil(async () => (await count('outbox where dispatched_at is not null')) === 2, eventually);
    expect(orders.sort()).toEqual(['o1', 'o2']);
    expect(log.lines.filter((line) => line.includes('stuck in PROCESSING'))).toHaveLength(2);
  });
});
