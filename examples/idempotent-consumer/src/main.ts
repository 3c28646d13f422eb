/** A message that is delivered twice credits its points once. The guide on idempotency shows the middle part. */
import assert from 'node:assert/strict';
import {
  composeModules,
  DispatchEvents,
  OutboxModule,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
} from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
let deliveries = 0;

/** A broker whose answer gets lost once, after the consumer has done its work. */
async function deliver(row: OutboxRow): Promise<void> {
  deliveries += 1;
  console.log(`delivery ${deliveries} of ${row.topic}`);
  await creditPoints(row);
  if (deliveries === 1) throw new Error('the connection broke before the answer came');
}

const app = composeModules([OutboxModule.forRoot({ publisher: deliver }), OutboxPgModule.forRoot({ pool })]);
await app.get(OutboxSchema).ensure();
await pool.query('create table points (customer text primary key, total int not null)');
await pool.query("insert into points values ('ada', 0)");

// #region guide
const processed = app.get(ProcessedMessages);

async function creditPoints(message: OutboxRow): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await processed.processOnce(client, 'points', message.id, async () => {
      await client.query("update points set total = total + 10 where customer = 'ada'");
    });
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
// #endregion

await app.get(OutboxStore).enqueue({ topic: 'order.paid', payload: { customer: 'ada' } });
const dispatched = new Promise<void>((resolve) => {
  app.get(DispatchEvents).on('batch', (batch) => batch.dispatched > 0 && resolve());
});
await app.start();
await dispatched;
await app.stop();

const { rows } = await pool.query('select total from points');
await pool.end();
await database.close();

assert.equal(deliveries, 2);
assert.deepEqual(rows, [{ total: 10 }]);
console.log(`Delivered ${deliveries} times, credited once: ${rows[0]?.total} points.`);
