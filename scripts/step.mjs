import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { root } from './checkout.mjs';

/** A tool ended badly and its output was shown: nothing more is to be said, only its code passed on. */
export class StepFailed extends Error {
  constructor(label, exitCode) {
    super(`${label}: failed with exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Runs one tool: a line when all is well, its whole output when not. */
export async function step(label, [command, ...args], { signal, cwd = root }) {
  const startedAt = performance.now();
  process.stderr.write(`${label} ... `);
  const { exitCode, output } = await capture(command, args, cwd, signal);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (signal.aborted) {
    process.stderr.write('interrupted\n');
    signal.throwIfAborted();
  }
  if (exitCode !== 0) {
    process.stderr.write(`failed after ${seconds} s\n\n${output}\n`);
    throw new StepFailed(label, exitCode);
  }
  process.stderr.write(`${seconds} s\n`);
}

export function capture(command, args, cwd, signal) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    // A group of its own, so that an interrupt reaches what the tool has started too, and reaches it once.
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    const collect = (chunk) => chunks.push(chunk);
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const stop = () => child.pid !== undefined && process.kill(-child.pid, 'SIGTERM');
    signal.addEventListener('abort', stop);
    child.once('error', reject);
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', stop);
      const exitCode = code ?? 128 + constants.signals[killedBy];
      resolve({ exitCode, output: Buffer.concat(chunks).toString() });
    });
  });
}
