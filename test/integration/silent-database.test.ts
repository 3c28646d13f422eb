import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { composeModules, type Module, OutboxModule } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { OutboxPrismaModule } from '@postcommit/store-prisma';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import pg from '../../internal/test-database/src/pg.js';
import { PrismaClient } from '../../packages/store-prisma/test/gen/client.js';

/** Accepts connections and never answers, as a server does that is frozen or behind a firewall that drops. */
let server: Server;
const sockets = new Set<Socket>();
let connected: () => void = () => {};

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    connected();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function url(): string {
  return `postgres://app@127.0.0.1:${(server.address() as AddressInfo).port}/app`;
}

const stores: Record<string, () => Module> = {
  pg: () => OutboxPgModule.forRoot({ pool: new pg.Pool({ connectionString: url() }) }),
  typeorm: () =>
    OutboxTypeormModule.forRoot({ dataSource: new DataSource({ type: 'postgres', url: url() }) }),
  prisma: () =>
    OutboxPrismaModule.forRoot({
      clientFactory: () => new PrismaClient({ adapter: new PrismaPg({ connectionString: url() }) }),
    }),
};

it.each(Object.keys(stores))(
  'a stop during a start against a silent database ends within its grace: %s',
  async (name) => {
    const isConnected = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const modules = [OutboxModule.forRoot({ publisher: async () => {} }), stores[name]?.() ?? { name }];
    const app = composeModules(modules);
    const starting = app.start().catch((error: unknown) => error);
    await isConnected;
    const beganMs = performance.now();
    await expect(app.stop({ graceMs: 300 })).rejects.toMatchObject({
      code: 'START_ABANDONED',
      message: expect.stringContaining('had not started when the 300 ms grace period was over'),
    });
    // The grace, and the second that what had started has to stop.
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    expect(await starting).toMatchObject({ code: 'START_ABANDONED' });
    // What the drivers still wait for ends, and harms nobody.
    for (const socket of sockets) socket.destroy();
  },
);
