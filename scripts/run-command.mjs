import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/**
 * Runs a command, shows its output, and returns its exit code. It has a process group of its own, so that an interrupt
 * reaches everything the command has started, and reaches it once.
 */
export async function runCommand([program, ...args], env, signal) {
  signal.throwIfAborted();
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  const passOn = () => child.pid !== undefined && process.kill(-child.pid, signal.reason);
  signal.addEventListener('abort', passOn);
  try {
    const [code, killedBy] = await once(child, 'exit');
    return code ?? 128 + constants.signals[killedBy];
  } finally {
    signal.removeEventListener('abort', passOn);
  }
}
