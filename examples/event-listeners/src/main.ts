/** Listeners in the same process: a class and a function hear the same row; when one fails, the row is tried again. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createOutbox, type Module } from '@postcommit/core';
import { OutboxEvent, OutboxEventsModule, onEvent } from '@postcommit/publisher-events';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { OrderBoard } from './order-board.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const happened = new EventEmitter();
const mailed: string[] = [];

const thankYou = onEvent(
  OutboxEvent,
  ({ id, topic, attempt }) => {
    console.log(`thank-you    ${topic} try ${attempt}`);
    if (attempt === 1) throw new Error('mail server busy');
    mailed.push(id);
    happened.emit(`mailed ${id}`);
  },
  { name: 'thank-you', topic: 'order.paid' },
);

/** Binds what the listener's constructor asks for. */
const PoolModule: Module = { name: 'PoolModule', provides: [{ provide: pg.Pool, useValue: pool }] };

const outbox = createOutbox({
  store: pgStore(pool),
  modules: [PoolModule, OutboxEventsModule.forRoot({ listeners: [OrderBoard, thankYou] })],
  onDead: ({ row }) => happened.emit(`dead ${row.id}`),
});
await outbox.migrate();
await pool.query('create table if not exists order_board (id text primary key, customer text not null)');

const [paid = '', unheard = ''] = await outbox.enqueue([
  { topic: 'order.paid', payload: { customer: 'ada' } },
  { topic: 'invoice.sent', payload: { customer: 'ada' } },
]);
const handled = Promise.all([once(happened, `mailed ${paid}`), once(happened, `dead ${unheard}`)]);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: handled });

const [dispatched] = await outbox.store.peek({ id: paid, state: 'dispatched' }, 1);
const [dead] = await outbox.store.peek({ id: unheard }, 1);
const { rows: board } = await pool.query('select * from order_board where id in ($1, $2)', [paid, unheard]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

// The first try failed for one listener, so at the second both ran again.
assert.equal(dispatched?.attempts, 1);
assert.deepEqual(board, [{ id: paid, customer: 'ada' }]);
assert.deepEqual(
  mailed.filter((id) => id === paid),
  [paid],
);
assert.equal(dead?.deadReason, 'no-listener');
console.log('Two listeners, one row on the board, one mail. What nobody listens to is dead, not lost.');
