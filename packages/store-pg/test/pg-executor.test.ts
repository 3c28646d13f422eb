import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { pgExecutor } from '@postcommit/store-pg';
import type { SqlSteps } from '@postcommit/store-sql';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';

/** A message of PostgreSQL's protocol: its kind, its length, its body. */
function message(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

const READY = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const ENDED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

let server: Server;
let pool: pg.Pool;

/** A server that ends each connection in the packet in which it becomes ready. */
async function openEndingServer(): Promise<void> {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([READY, ENDED])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  pool = new pg.Pool({ host: '127.0.0.1', port, user: 'u', password: 'p', database: 'd' });
  pool.on('error', () => {});
}

afterEach(async () => {
  await pool.end();
  server.close();
});

function* work(): SqlSteps {
  return yield { text: 'select 1', values: [] };
}

it('a connection that ends as it becomes ready fails the call, not the process', async () => {
  await openEndingServer();
  await expect(pgExecutor(pool)(() => work())).rejects.toThrow();
});

it('a pool that ignores the callback is used by its promise', async () => {
  await openEndingServer();
  const refusal = new Error('no connection to be had');
  const promising = { query: pool.query.bind(pool), connect: () => Promise.reject(refusal) };
  await expect(pgExecutor(promising)(() => work())).rejects.toBe(refusal);
});
