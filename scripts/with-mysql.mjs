/**
 * Runs a command against a real MySQL, which is stopped and removed afterwards, however the command ends:
 *
 *   node scripts/with-mysql.mjs npm test -- packages/store-sql packages/store-typeorm packages/cli
 *
 * The server comes from Debian's packages, unpacked below `.cache` and reused by the next run; it needs apt and dpkg
 * and no rights. The command finds it in MYSQL_URL. Exit code: the command's, or 77 where MySQL is unavailable.
 */
import { requireSupportedNode } from './checkout.mjs';
import { interruptible } from './interruption.mjs';
import { MysqlUnavailable, provideMysql } from './mysql-package.mjs';
import { startMysql } from './mysql-server.mjs';
import { runCommand } from './run-command.mjs';
import { StepFailed } from './step.mjs';

const SKIPPED = 77;

async function runWithMysql(command, signal) {
  requireSupportedNode();
  if (command.length === 0) throw new Error('Usage: node scripts/with-mysql.mjs <command> [arguments]');
  const server = await startMysql(await provideMysql(signal), signal);
  try {
    process.stderr.write(`MySQL listens: ${server.url}\n`);
    return await runCommand(command, { ...process.env, MYSQL_URL: server.url }, signal);
  } finally {
    await server.stop();
  }
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
await interruptible(async (signal) => {
  try {
    process.exitCode = await runWithMysql(command, signal);
  } catch (error) {
    process.exitCode = signal.aborted ? 1 : report(error);
  }
});
