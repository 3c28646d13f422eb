// Runs one command at a time for the process that started it, and outlives it: when that process ends, however it
// ends, the channel closes; then the command is stopped and the folder removed. It is the parent of what it runs, so
// it knows of every process from its first moment and learns of its end by an event, never by looking for a pid.
// Plain JavaScript: it must start without a loader.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { rm } from 'node:fs/promises';

// PostgreSQL: wait for the clients, cut them off, stop at once. It gives its own children 5 s after SIGQUIT.
const STOP_STEPS = [
  ['SIGTERM', 3_000],
  ['SIGINT', 3_000],
  ['SIGQUIT', 7_000],
  ['SIGKILL', 3_000],
];

const [folder, logFile] = process.argv.slice(2);
let child;
let ended = Promise.resolve();
let isShuttingDown = false;

process.on('message', ({ run, signal }) => {
  if (signal) child?.kill(signal);
  if (run && !isShuttingDown) start(run);
});
process.on('disconnect', shutDown);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, shutDown);
// The starter may have died before the line above was reached.
if (!process.connected) await shutDown();

function start({ file, args, uid, gid }) {
  const log = openSync(logFile, 'a');
  child = spawn(file, args, { cwd: folder, uid, gid, stdio: ['ignore', log, log] });
  ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(report({ ended: error.message })));
    child.once('exit', (code, signal) => resolve(report({ ended: signal ?? `exit code ${code}` })));
  });
  if (child.pid !== undefined) report({ pid: child.pid });
}

function report(message) {
  // A starter that has just died is not an error here: the disconnect is on its way.
  if (process.connected) process.send(message, () => {});
}

async function shutDown() {
  if (isShuttingDown) return;
  isShuttingDown = true;
  for (const [signal, waitMs] of STOP_STEPS) {
    child?.kill(signal);
    if (await hasEndedWithin(waitMs)) break;
  }
  // Orphaned backends and initdb's own child may still write for a moment: hence the retries.
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.exit(0);
}

async function hasEndedWithin(ms) {
  let timer;
  const tooLate = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const isOver = await Promise.race([ended.then(() => true), tooLate]);
  clearTimeout(timer);
  return isOver;
}
