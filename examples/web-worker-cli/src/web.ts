/** The web server: stores an order and its message in one transaction, and publishes nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inTransaction } from '@postcommit/store-pg';
import { outbox, pool } from './outbox.js';

await pool.query('create table if not exists web_orders (id text primary key)');
await outbox.start(); // checks the tables; there is no worker to start
const stopped = outbox.runUntilSignal();

const server = createServer(async ({ method, url }, response) => {
  const [, id] = /^\/orders\/([\w-]+)$/.exec(url ?? '') ?? [];
  if (method !== 'POST' || id === undefined) return response.writeHead(404).end();
  try {
    await pay(id);
    response.writeHead(201).end();
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});

async function pay(id: string): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await tx.query('insert into web_orders values ($1)', [id]);
    await outbox.enqueueWith(tx, { id, topic: 'order.paid', payload: { id } });
  });
}

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
await once(server, 'listening');
console.log(`web listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`);

await stopped;
server.close();
await once(server, 'close');
await pool.end();
