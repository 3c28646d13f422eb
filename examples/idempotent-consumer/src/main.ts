/** A message that is delivered twice credits its points once. The guide on idempotency shows the middle part. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox, type OutboxRow, ProcessedMessages } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const answered = new EventEmitter();

/** A broker whose answer to the first try gets lost, after the consumer has done its work. */
async function deliver(row: OutboxRow): Promise<void> {
  console.log(`try ${row.attempts + 1} to deliver ${row.topic}`);
  await creditPoints(row);
  if (row.attempts === 0) throw new Error('the connection broke before the answer came');
  answered.emit(row.id);
}

const outbox = createOutbox({ store: pgStore(pool), publisher: deliver });
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customer = randomUUID();
await pool.query('insert into points values ($1, 0)', [customer]);

// #region guide
const processed = outbox.app.get(ProcessedMessages);

async function creditPoints(message: OutboxRow): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await processed.processOnce(tx, 'points', message.id, async () => {
      await tx.query('update points set total = total + 10 where customer = $1', [message.key]);
    });
  });
}
// #endregion

const [id = ''] = await outbox.enqueue({ topic: 'order.paid', key: customer, payload: {} });
const delivered = once(answered, id);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: delivered });

const [message] = await outbox.store.peek({ id, state: 'dispatched' }, 1);
const { rows } = await pool.query('select total from points where customer = $1', [customer]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.equal(message?.attempts, 1); // failed ones
assert.deepEqual(rows, [{ total: 10 }]);
console.log(`Delivered twice, credited once: ${rows[0]?.total} points.`);
