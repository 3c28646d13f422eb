/**
 * Runs a command against a real MySQL, which is stopped and removed afterwards, however the command ends:
 *
 *   node scripts/with-mysql.mjs npm test -- packages/store-sql packages/store-typeorm packages/cli
 *
 * The server comes from Debian's packages, unpacked below `.cache` and reused by the next run; it needs apt and dpkg
 * and no rights. The command finds it in MYSQL_URL. Exit code: the command's, or 77 where MySQL is unavailable.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { requireSupportedNode } from './checkout.mjs';
import { MysqlUnavailable, provideMysql } from './mysql-package.mjs';
import { startMysql } from './mysql-server.mjs';
import { StepFailed } from './step.mjs';

const SKIPPED = 77;

async function runWithMysql(command, signal) {
  const server = await startMysql(await provideMysql(signal), signal);
  try {
    process.stderr.write(`MySQL listens: ${server.url}\n`);
    return await run(command, { ...process.env, MYSQL_URL: server.url }, signal);
  } finally {
    await server.stop();
  }
}

/** In a group of its own, so that an interrupt reaches all that the command has started, and reaches it once. */
async function run([program, ...args], env, signal) {
  signal.throwIfAborted();
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  const passOn = () => child.pid !== undefined && process.kill(-child.pid, signal.reason);
  signal.addEventListener('abort', passOn);
  const [code, killedBy] = await once(child, 'exit');
  signal.removeEventListener('abort', passOn);
  return code ?? 128 + constants.signals[killedBy];
}

/** Everything has been said when this returns. */
function report(error) {
  if (error instanceof MysqlUnavailable) {
    console.error(`Skipped: MySQL is unavailable, ${error.message}`);
    return SKIPPED;
  }
  if (!(error instanceof StepFailed)) console.error(error.message);
  return error.exitCode ?? 1;
}

const command = process.argv.slice(2);
const interruption = new AbortController();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const onSignal = (name) => interruption.abort(name);
for (const name of signals) process.on(name, onSignal);
try {
  requireSupportedNode();
  if (command.length === 0) throw new Error('Usage: node scripts/with-mysql.mjs <command> [arguments]');
  process.exitCode = await runWithMysql(command, interruption.signal);
} catch (error) {
  process.exitCode = interruption.signal.aborted ? 1 : report(error);
} finally {
  for (const name of signals) process.off(name, onSignal);
  // Dying by the same signal tells a calling shell that this was an interrupt, not a failure.
  if (interruption.signal.aborted) process.kill(process.pid, interruption.signal.reason);
}
