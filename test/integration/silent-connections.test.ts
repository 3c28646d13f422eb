import {
  composeModules,
  DispatchEvents,
  type Module,
  OutboxModule,
  OutboxSchema,
  OutboxWorker,
} from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { OutboxPrismaModule } from '@postcommit/store-prisma';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import { describe, expect, it, vi } from 'vitest';
import pg from '../../internal/test-database/src/pg.js';
import { PrismaClient } from '../../packages/store-prisma/test/gen/client.js';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { tcpProxy } from '../../packages/store-sql/test/tcp-proxy.js';

const fixture = usePostgres();
/** What the documentation promises. */
const WITHIN_MS = 15_000;

interface Connected {
  readonly module: Module;
  /** Something that the application runs on the same connections. */
  query(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** With the options of a start page, and a table of its own. */
const stores: Record<string, (url: string, table: string) => Promise<Connected>> = {
  pg: async (url, table) => {
    const pool = new pg.Pool({ connectionString: url });
    const module = OutboxPgModule.forRoot({ pool, table });
    return { module, query: () => pool.query('select 1'), close: () => pool.end() };
  },
  'pg without a listener': async (url, table) => {
    const pool = new pg.Pool({ connectionString: url });
    const module = OutboxPgModule.forRoot({ pool, table, wakeup: false });
    return { module, query: () => pool.query('select 1'), close: () => pool.end() };
  },
  typeorm: async (url, table) => {
    const dataSource = await new DataSource({
      type: 'postgres',
      url,
      poolErrorHandler: () => {},
    }).initialize();
    const module = OutboxTypeormModule.forRoot({ dataSource, table });
    return { module, query: () => dataSource.query('select 1'), close: () => dataSource.destroy() };
  },
  prisma: async (url, table) => {
    const client = new PrismaClient({
      adapter: new PrismaPg({ connectionString: url }, { onPoolError: () => {} }),
    });
    const module = OutboxPrismaModule.forRoot({ client, table });
    return { module, query: () => client.$queryRawUnsafe('select 1'), close: () => client.$disconnect() };
  },
};

describe.concurrent('open connections turn silent while new ones work', () => {
  it.each(Object.keys(stores))(
    'rows with and without a key are published within 15 s, and health says so: %s',
    async (name) => {
      const proxy = await tcpProxy(fixture.url);
      const table = `outbox_${name.replaceAll(' ', '_')}`;
      const connected = await stores[name]?.(proxy.url, table);
      if (!connected) return;
      const { module, query, close } = connected;
      const published = new Set<string>();
      const publisher = async ({ id }: { id: string }): Promise<void> => void published.add(id);
      const app = composeModules([OutboxModule.forRoot({ publisher }), module]);
      // Not through the proxy: the application that enqueues is another process.
      const producer = new PgOutboxStore(fixture.pool, { table });
      const enqueue = async (when: string): Promise<void> => {
        const entry = { topic: 'order.paid', payload: {} };
        await producer.enqueue([
          { ...entry, id: when },
          { ...entry, id: `${when}-keyed`, key: 'k' },
        ]);
      };
      const worker = app.get(OutboxWorker);
      const events: string[] = [];
      for (const event of ['trouble', 'recovered'] as const) {
        app.get(DispatchEvents).on(event, () => void events.push(event));
      }
      await app.get(OutboxSchema).ensure();
      await app.start();
      try {
        await enqueue('before');
        await vi.waitFor(() => expect(published.size).toBe(2), 10_000);
        // Several idle connections of the pool turn silent, too.
        await Promise.all(Array.from({ length: 5 }, query));
        expect(await worker.health()).toMatchObject({ status: 'up' });
        proxy.freeze();
        proxy.thaw();
        await enqueue('after');
        const isDown = vi.waitFor(
          async () => expect(await worker.health()).toMatchObject({ status: 'down' }),
          {
            timeout: WITHIN_MS,
            interval: 200,
          },
        );
        await vi.waitFor(() => expect(published.size).toBe(4), { timeout: WITHIN_MS, interval: 100 });
        await isDown;
        await vi.waitFor(
          async () => expect(await worker.health()).toMatchObject({ status: 'up' }),
          WITHIN_MS,
        );
        expect(events[0]).toBe('trouble');
        expect(events).toContain('recovered');
      } finally {
        await app.stop({ graceMs: 1_000 }).catch(() => {});
        void close().catch(() => {});
      }
    },
    60_000,
  );
});
