/** Plays the platform and the operator: starts the web server and the worker, and retries what has died. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { outboxCommand, RunningProcess } from './processes.js';
import { Warehouse } from './warehouse.js';

assert.ok(
  process.env.DATABASE_URL,
  'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres',
);
await outboxCommand('outbox:migrate');

const warehouse = await Warehouse.open();
const web = new RunningProcess('src/web.ts', { PORT: '0' });
const worker = new RunningProcess('src/worker.ts', { WAREHOUSE_URL: warehouse.url });
/** Ctrl-C reaches all processes of a terminal; SIGTERM only this one. */
const stopAll = (signal?: 'SIGTERM'): Promise<(number | null)[]> =>
  Promise.all([web.stop(signal), worker.stop(signal)]);
process.once('SIGTERM', () => stopAll('SIGTERM').then(() => process.exit()));
process.once('SIGINT', () => stopAll().then(() => process.exit()));

const id = randomUUID();
const [, url] = await web.says(/^web listens on (\S+)$/);
const died = worker.says(new RegExp(`${id} is dead`));
const { status } = await fetch(`${url}/orders/${id}`, { method: 'POST' });
await died;

const dead = await outboxCommand('outbox:list', '--state', 'dead', '--topic', 'order.paid');
warehouse.isOpen = true;
const arrived = warehouse.accepts(id);
const retried = await outboxCommand('outbox:retry', id);
await arrived;
const exitCodes = await stopAll('SIGTERM');
const dispatched = await outboxCommand('outbox:list', '--state', 'dispatched', '--topic', 'order.paid');
const stats = await outboxCommand('outbox:stats');
await warehouse.close();

assert.equal(status, 201);
assert.match(dead, new RegExp(`^${id} state=dead topic=order.paid`, 'm'));
assert.equal(retried, `outbox:retry id=${id} requeued`);
assert.deepEqual(exitCodes, [0, 0]);
assert.match(dispatched, new RegExp(`^${id} state=dispatched`, 'm'));
assert.match(stats, /^outbox:stats pending=\d+ dispatched=\d+ dead=\d+ total=\d+$/);
console.log(
  'An order that the warehouse refused was found, retried and delivered, by three kinds of processes.',
);
