/** The outbox's commands inside an application's own commander program; here run one after another. */
import assert from 'node:assert/strict';
import type { CommandHost } from '@postcommit/cli';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { shopProgram } from './shop-program.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const warehouse = { isOpen: false };
const printed: string[] = [];
const exitCodes: number[] = [];

/** Leave it out, and commands write to the terminal and end the process as programs do. */
const host: CommandHost = {
  stdout: { write: (text) => show(text) },
  stderr: { write: (text) => show(text) },
  setExitCode: (code) => exitCodes.push(code),
  exit: (code) => {
    throw new Error(`the program would end with ${code}`);
  },
};

await shop('outbox:migrate');
await shop('orders:pay', 'order-7');
await shop('outbox:dispatch');
await shop('outbox:list', '--state', 'dead');
warehouse.isOpen = true;
await shop('outbox:retry', 'order-7');
await shop('outbox:dispatch', '--loop');
await shop('outbox:stats');
await shop('outbox:retry', 'no-such-order');
await pool.end();
await database.close();

const [, first, dead, retried, second, stats, unknown] = printed;
assert.match(String(first), /^outbox:dispatch fetched=1 dispatched=0 failed=0 dead=1$/);
assert.match(String(dead), /^order-7 state=dead topic=order.paid .*lastError="warehouse is closed"$/);
assert.equal(retried, 'outbox:retry id=order-7 requeued');
assert.match(String(second), /^outbox:dispatch fetched=1 dispatched=1 failed=0 dead=0$/);
assert.equal(stats, 'outbox:stats pending=0 dispatched=1 dead=0 total=1');
assert.match(String(unknown), /^outbox:retry: .*no-such-order/);
assert.deepEqual(exitCodes, [1]);
console.log('A dead message was found, retried and delivered from the command line.');

async function shop(...args: string[]): Promise<void> {
  console.log(`$ shop ${args.join(' ')}`);
  await shopProgram(pool, warehouse, host).parseAsync(args, { from: 'user' });
}

function show(text: string): void {
  printed.push(text.trim());
  console.log(text.trim());
}
