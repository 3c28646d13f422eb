/** The outbox's commands inside an application's own commander program; here run one after another. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { CommandHost } from '@postcommit/cli';
import pg from 'pg';
import { shopProgram } from './shop-program.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const warehouse = { isOpen: false };
const printed: string[] = [];
let lastExitCode = 0;

/** Leave it out, and commands write to the terminal and end the process as programs do. */
const host: CommandHost = {
  stdout: { write: (text) => show(text) },
  stderr: { write: (text) => show(text) },
  setExitCode: (code) => {
    lastExitCode = code;
  },
  exit: (code) => process.exit(code),
};

const order = randomUUID();
await shop('outbox:migrate');
await shop('orders:pay', order);
const first = await shop('outbox:dispatch', '--loop');
const dead = await shop('outbox:list', '--state', 'dead');
warehouse.isOpen = true;
const retried = await shop('outbox:retry', order);
const second = await shop('outbox:dispatch', '--loop');
const dispatched = await shop('outbox:list', '--state', 'dispatched');
const stats = await shop('outbox:stats');
const unknown = await shop('outbox:retry', 'no-such-order');
await pool.end();

assert.match(first, /^outbox:dispatch fetched=\d+ dispatched=0 failed=0 dead=\d+$/);
assert.match(
  dead,
  new RegExp(`^${order} state=dead topic=order.paid .*lastError="warehouse is closed"$`, 'm'),
);
assert.equal(retried, `outbox:retry id=${order} requeued`);
assert.match(second, /^outbox:dispatch fetched=1 dispatched=1 failed=0 dead=0$/);
assert.match(dispatched, new RegExp(`^${order} state=dispatched`, 'm'));
assert.match(stats, /^outbox:stats pending=0 dispatched=\d+ dead=\d+ total=\d+$/);
assert.match(unknown, /^outbox:retry: .*no-such-order/);
assert.equal(lastExitCode, 1);
console.log('A dead message was found, retried and delivered from the command line.');

/** Returns what the command printed. */
async function shop(...args: string[]): Promise<string> {
  console.log(`$ shop ${args.join(' ')}`);
  printed.length = 0;
  await shopProgram(pool, warehouse, host).parseAsync(args, { from: 'user' });
  // Interrupted: the command has let its batch finish.
  if (lastExitCode > 128) process.exit(lastExitCode);
  return printed.join('').trim();
}

function show(text: string): void {
  printed.push(text);
  process.stdout.write(text);
}
