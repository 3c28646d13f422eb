/**
 * Orders are placed on a real PostgreSQL, some roll back, the broker fails now and then, and the dispatcher is killed
 * half way: what arrives is what committed. The closing table is read from the database.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SqlOutboxSchema } from '@postcommit/sql';
import { PgOutboxStore, pgExecutor } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { proof, watch } from './proof.js';

const PRODUCERS = 4;
const ORDERS_EACH = 500;
const ROLLBACK_RATE = 0.2;

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: PRODUCERS + 2 });
const store = new PgOutboxStore(pool);
let rolledBack = 0;

function startDispatcher(): ChildProcess {
  const script = fileURLToPath(new URL('./dispatcher.ts', import.meta.url));
  return spawn(process.execPath, ['--import', 'tsx', script], {
    env: { ...process.env, DEMO_DATABASE_URL: database.url },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function placeOrder(order: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('insert into orders (id) values ($1)', [order]);
    await store.enqueueWith(client, { topic: 'order.placed', key: order, payload: { order } });
    if (Math.random() < ROLLBACK_RATE) throw new Error('card declined');
    await client.query('commit');
  } catch {
    await client.query('rollback');
    rolledBack += 1;
  } finally {
    client.release();
  }
}

async function produce(producer: number): Promise<void> {
  for (let order = 0; order < ORDERS_EACH; order++) {
    await placeOrder(`order-${producer}-${order}`);
    await setTimeout(1);
  }
}

async function until(isReached: (counts: Awaited<ReturnType<typeof store.count>>) => boolean): Promise<void> {
  while (!isReached(await store.count())) await setTimeout(20);
}

console.log(`${PRODUCERS} producers place ${PRODUCERS * ORDERS_EACH} orders on ${database.server}.`);
await new SqlOutboxSchema(pgExecutor(pool)).ensure();
await pool.query('create table orders (id text primary key)');
await pool.query(
  'create table broker (message_id text not null, order_id text not null, dispatcher int not null)',
);

const stopWatching = watch(store);
let dispatcher = startDispatcher();
try {
  const producing = Promise.all(Array.from({ length: PRODUCERS }, (_, producer) => produce(producer)));
  await until(({ dispatched }) => dispatched > (PRODUCERS * ORDERS_EACH) / 3);
  const killed = dispatcher.pid;
  dispatcher.kill('SIGKILL');
  await once(dispatcher, 'exit');
  console.log(
    `Dispatcher ${killed} was killed with SIGKILL in the middle of its work; another one takes over.`,
  );
  dispatcher = startDispatcher();
  await producing;
  await until(({ pending }) => pending === 0);
} finally {
  stopWatching();
  dispatcher.kill('SIGTERM');
  await once(dispatcher, 'exit');
}

console.log(`${rolledBack} orders rolled back.\n`);
const kept = await proof(pool);
console.log(kept ? 'Every committed order was announced, and nothing else.' : 'A promise was broken.');
await pool.end();
await database.close();
process.exitCode = kept ? 0 : 1;
