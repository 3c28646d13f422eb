/** A reminder that is stored with its invoice and arrives at its time, unless the invoice is paid before. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { onEvent } from '@postcommit/publisher-events';
import { ScheduleArrived, ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const reminders = new EventEmitter();

const remind = onEvent(
  ScheduleArrived,
  ({ scheduledJobId, topic, payload, runAt }) => {
    console.log(`${topic} ${JSON.stringify(payload)}, scheduled for ${runAt.toISOString()}`);
    reminders.emit(scheduledJobId);
  },
  { name: 'remind', topic: 'invoice.*' },
);
const outbox = createOutbox({
  store: pgStore(pool),
  modules: [ScheduledMessagesModule.forRoot({ listeners: [remind] })],
  pollIntervalMs: 100,
});
await outbox.migrate();
await pool.query('create table if not exists invoices (id text primary key, reminder_id text not null)');
const schedules: ScheduleService<pg.PoolClient> = outbox.app.get(ScheduleService);

async function writeInvoice(id: string, runAt: Date | string): Promise<string> {
  return inTransaction(pool, async (tx: pg.PoolClient) => {
    const spec = { topic: 'invoice.reminder', runAt, timezone: 'Europe/Berlin', payload: { id } };
    const reminderId = await schedules.scheduleWith(tx, spec);
    await tx.query('insert into invoices values ($1, $2)', [id, reminderId]);
    return reminderId;
  });
}

const unpaid = randomUUID();
const soon = await writeInvoice(unpaid, new Date(Date.now() + 1_000));
const paid = await writeInvoice(randomUUID(), new Date(Date.now() + 1_000));
const later = await writeInvoice(randomUUID(), '2099-07-01T09:00'); // nine o'clock in Berlin
await assert.rejects(writeInvoice(unpaid, '2099-07-01T09:00'), /duplicate key/);
await schedules.cancel(paid);

const sent = once(reminders, soon);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: sent });

const [finished, cancelled, waiting] = await Promise.all([soon, paid, later].map((id) => schedules.get(id)));
const { rows: reminded } = await pool.query(
  "select id from outbox where payload::text like '%' || $1 || '%'",
  [unpaid],
);
await schedules.cancel(later); // so that nothing is left to wait until 2099
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

const statuses = [finished, cancelled, waiting].map((message) => message?.status);
assert.deepEqual(statuses, ['completed', 'cancelled', 'scheduled']);
assert.equal(reminded.length, 1, 'the invoice that could not be stored has no reminder');
assert.equal(waiting?.runAt.toISOString(), '2099-07-01T07:00:00.000Z');
assert.ok(finished?.completedAt && finished.completedAt >= finished.runAt, 'not before its time');
console.log("One reminder came at its time, one was cancelled, one waited for nine o'clock in Berlin.");
