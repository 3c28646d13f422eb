/** Listeners in the same process: a class and a function hear the same row; when one fails, the row is tried again. */
import assert from 'node:assert/strict';
import { composeModules, type Module, OutboxDispatcher, OutboxModule, OutboxSchema } from '@postcommit/core';
import { contributeListeners, OutboxEvent, OutboxEventsModule, onEvent } from '@postcommit/publisher-events';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { OrderBoard } from './order-board.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
await pool.query('create table order_board (id text primary key, customer text not null)');
const mailed: string[] = [];

const thankYou = onEvent(
  OutboxEvent,
  ({ id, topic, attempt }) => {
    console.log(`thank-you    ${topic} try ${attempt}`);
    if (attempt === 1) throw new Error('mail server busy');
    mailed.push(id);
  },
  { name: 'thank-you', topic: 'order.paid' },
);

const OrdersModule: Module = {
  name: 'OrdersModule',
  provides: [{ provide: pg.Pool, useValue: pool }],
  contributes: contributeListeners(OrderBoard, thankYou),
};

const app = composeModules([
  OutboxModule,
  OutboxPgModule.forRoot({ pool }),
  OutboxEventsModule,
  OrdersModule,
]);
await app.get(OutboxSchema).ensure();
const store = app.get(PgOutboxStore);
const [paid] = await store.enqueue({ topic: 'order.paid', payload: { customer: 'ada' } });
await store.enqueue({ topic: 'invoice.sent', payload: { customer: 'ada' } });

const dispatcher = app.get(OutboxDispatcher);
const summaries = [await dispatcher.dispatchPending(), await dispatcher.dispatchPending()];
const [unheard] = await store.peek({ state: 'dead' }, 1);
const { rows: board } = await pool.query('select * from order_board');
await pool.end();
await database.close();

// The first try failed for one listener, so at the second both ran again.
assert.deepEqual(summaries, [
  { fetched: 2, dispatched: 0, failed: 1, dead: 1, fenced: 0 },
  { fetched: 1, dispatched: 1, failed: 0, dead: 0, fenced: 0 },
]);
assert.deepEqual(board, [{ id: paid, customer: 'ada' }]);
assert.deepEqual(mailed, [paid]);
assert.equal(unheard?.topic, 'invoice.sent');
assert.equal(unheard.deadReason, 'no-listener');
console.log('Two listeners, one row on the board, one mail. What nobody listens to is dead, not lost.');
