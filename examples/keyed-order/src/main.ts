/** Messages of one key arrive in the order of their commits, with two workers; a key that fails holds up no other. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { createOutbox, type OutboxRow } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const CHANGES = 10;
const pool = new pg.Pool({ connectionString: DATABASE_URL });
const [ada, bob] = [`ada-${randomUUID()}`, `bob-${randomUUID()}`];
const delivered = new Map<string, number[]>([
  [ada, []],
  [bob, []],
]);
const deliveries = new EventEmitter();
let refusals = 0;

/** Ada's bank is out of order until all of Bob's messages have arrived. */
async function deliver({ key = '', payload }: OutboxRow): Promise<void> {
  if (key === ada && delivered.get(bob)?.length !== CHANGES) {
    refusals += 1;
    throw new Error("ada's bank is out of order");
  }
  await setTimeout(Math.random() * 20); // some messages take longer than others
  delivered.get(key)?.push((payload as { version: number }).version);
  if ([...delivered.values()].every(({ length }) => length === CHANGES)) deliveries.emit('all');
}

// One is enough for an application. Two show that the order does not depend on it.
const outboxes = Array.from({ length: 2 }, () =>
  createOutbox({
    store: pgStore(pool),
    publisher: deliver,
    batchSize: 3,
    concurrency: 2,
    pollIntervalMs: 50,
    backoff: { type: 'fixed', delayMs: 50 },
  }),
);
const [outbox] = outboxes as [(typeof outboxes)[0]];
await outbox.migrate();
await pool.query('create table if not exists accounts (id text primary key, version int not null)');
await pool.query('insert into accounts values ($1, 0), ($2, 0)', [ada, bob]);

/** The update locks the account's row, so changes of one account commit one after another: that sets the order. */
async function change(id: string): Promise<void> {
  await inTransaction(pool, async (tx) => {
    const text = 'update accounts set version = version + 1 where id = $1 returning version';
    const { rows } = await tx.query<{ version: number }>(text, [id]);
    await outbox.enqueueWith(tx, {
      topic: 'account.changed',
      key: id,
      payload: { version: rows[0]?.version },
    });
  });
}

await Promise.all(Array.from({ length: 2 * CHANGES }, (_, index) => change(index % 2 ? ada : bob)));
const all = once(deliveries, 'all');
await Promise.all(outboxes.map((each) => each.start()));
const [signal] = await Promise.all(outboxes.map((each) => each.runUntilSignal({ until: all })));
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

const inOrder = Array.from({ length: CHANGES }, (_, index) => index + 1);
for (const [key, versions] of delivered) {
  console.log(`${key}: ${versions.join(' ')}`);
  assert.deepEqual(versions, inOrder);
}
assert.ok(refusals > 0, "ada's first message failed while bob's went through");
console.log(`Both arrived in order; failed tries, which held up nobody but ada: ${refusals}.`);
