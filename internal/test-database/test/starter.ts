import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Account } from '../src/account.js';

export interface Starter {
  readonly process: ChildProcess;
  /** The source is loaded, the server is about to be started. */
  readonly loaded: Promise<void>;
  /** The server's url, once it runs. */
  readonly url: Promise<string>;
  /** How the starter ended: its signal or its exit code. All its output is closed by then. */
  readonly ended: Promise<string | number | null>;
}

/** Runs fixtures/starter.mjs with its own temporary folder, as a process that we may kill. */
export function spawnStarter(ending: string, temporary: string, account?: Account): Starter {
  const script = fileURLToPath(new URL('./fixtures/starter.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, ending], {
    env: { PATH: process.env.PATH, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...account,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  const loaded = once(lines, 'line').then(() => undefined);
  const url = loaded.then(() => once(lines, 'line')).then(([line]) => String(line));
  const ended = once(child, 'close').then(
    ([code, signal]: (string | number | null)[]) => signal ?? code ?? null,
  );
  return { process: child, loaded, url, ended };
}
