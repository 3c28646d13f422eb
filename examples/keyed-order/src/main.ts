/** Messages of one key arrive in the order of their commits, with two workers; a key that fails holds up no other. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { composeModules, type OutboxApp, OutboxModule, type OutboxRow, OutboxSchema } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { inTransaction } from './in-transaction.js';

const CHANGES = 10;
const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
await pool.query('create table accounts (id text primary key, version int not null)');
await pool.query(`insert into accounts values ('ada', 0), ('bob', 0)`);

const delivered: Record<string, number[]> = { ada: [], bob: [] };
const deliveries = new EventEmitter();
let refusals = 0;

/** Ada's bank is out of order until all of Bob's messages have arrived. */
async function deliver({ key = '', payload }: OutboxRow): Promise<void> {
  if (key === 'ada' && delivered.bob?.length !== CHANGES) {
    refusals += 1;
    throw new Error("ada's bank is out of order");
  }
  await setTimeout(Math.random() * 20); // some messages take longer than others
  delivered[key]?.push((payload as { version: number }).version);
  if (Object.values(delivered).every(({ length }) => length === CHANGES)) deliveries.emit('all');
}

function composeWorker(): OutboxApp {
  return composeModules([
    OutboxModule.forRoot({
      publisher: deliver,
      batchSize: 3,
      concurrency: 2,
      pollIntervalMs: 50,
      backoff: { type: 'fixed', delayMs: 50 },
    }),
    OutboxPgModule.forRoot({ pool }),
  ]);
}

const workers = [composeWorker(), composeWorker()] as const;
await workers[0].get(OutboxSchema).ensure();

/** The update locks the account's row, so changes of one account commit one after another: that gives the order. */
async function change(id: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    const text = 'update accounts set version = version + 1 where id = $1 returning version';
    const { rows } = await client.query<{ version: number }>(text, [id]);
    const entry = { topic: 'account.changed', key: id, payload: { version: rows[0]?.version } };
    await workers[0].get(PgOutboxStore).enqueueWith(client, entry);
  });
}

await Promise.all(Array.from({ length: 2 * CHANGES }, (_, index) => change(index % 2 ? 'ada' : 'bob')));
const all = once(deliveries, 'all');
await Promise.all(workers.map((worker) => worker.start()));
await all;
await Promise.all(workers.map((worker) => worker.stop()));
await pool.end();
await database.close();

for (const [key, versions] of Object.entries(delivered)) console.log(`${key}: ${versions.join(' ')}`);
const inOrder = Array.from({ length: CHANGES }, (_, index) => index + 1);
assert.deepEqual(delivered, { ada: inOrder, bob: inOrder });
assert.ok(refusals > 0, "ada's first message failed while bob's went through");
console.log(`Both arrived in order; failed tries, which held up nobody but ada: ${refusals}.`);
