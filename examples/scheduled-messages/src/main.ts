/** A reminder that is stored with its invoice and arrives at its time, unless the invoice is paid before. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { composeModules, OutboxModule, OutboxSchema } from '@postcommit/core';
import { onEvent } from '@postcommit/publisher-events';
import { ScheduleArrived, ScheduledMessagesModule, ScheduleService } from '@postcommit/scheduled-messages';
import { OutboxPgModule } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { inTransaction } from './in-transaction.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
await pool.query('create table invoices (id text primary key, reminder_id text not null)');
const reminders = new EventEmitter();

const remind = onEvent(
  ScheduleArrived,
  ({ scheduledJobId, topic, payload, runAt }) => {
    console.log(`${topic} ${JSON.stringify(payload)}, scheduled for ${runAt.toISOString()}`);
    reminders.emit('sent', scheduledJobId);
  },
  { name: 'remind', topic: 'invoice.*' },
);
const app = composeModules([
  OutboxModule.forRoot({ pollIntervalMs: 100 }),
  OutboxPgModule.forRoot({ pool }),
  ScheduledMessagesModule.forRoot({ listeners: [remind] }),
]);
await app.get(OutboxSchema).ensure();
const schedules: ScheduleService<pg.PoolClient> = app.get(ScheduleService);

async function writeInvoice(id: string, runAt: Date | string): Promise<string> {
  return inTransaction(pool, async (client) => {
    const spec = { topic: 'invoice.reminder', runAt, timezone: 'Europe/Berlin', payload: { id } };
    const reminderId = await schedules.scheduleWith(client, spec);
    await client.query('insert into invoices values ($1, $2)', [id, reminderId]);
    return reminderId;
  });
}

const soon = await writeInvoice('invoice-1', new Date(Date.now() + 1_000));
const paid = await writeInvoice('invoice-2', new Date(Date.now() + 1_000));
const later = await writeInvoice('invoice-3', '2099-07-01T09:00'); // nine o'clock in Berlin
await assert.rejects(writeInvoice('invoice-1', new Date()), /duplicate key/);
await schedules.cancel(paid);

const sent = once(reminders, 'sent');
await app.start();
const [arrived] = await sent;
await app.stop();

const found = await schedules.list();
const statusOf = (id: string) => found.find((message) => message.id === id)?.status;
const finished = await schedules.get(soon);
const waiting = await schedules.get(later);
await pool.end();
await database.close();

assert.equal(arrived, soon);
assert.equal(found.length, 3, 'the invoice that could not be stored has no reminder');
assert.deepEqual([soon, paid, later].map(statusOf), ['completed', 'cancelled', 'scheduled']);
assert.equal(waiting?.runAt.toISOString(), '2099-07-01T07:00:00.000Z');
assert.ok(finished?.completedAt && finished.completedAt >= finished.runAt, 'not before its time');
console.log("One reminder came at its time, one was cancelled, one waits for nine o'clock in Berlin.");
