import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Account } from './account.js';

export interface Command extends Partial<Account> {
  readonly file: string;
  readonly args: readonly string[];
}

type Report = { readonly pid: number } | { readonly ended: string };

/**
 * A detached process that runs our commands and cleans up after us, however we end. Its one link to us is the
 * channel: stopping in order is closing it, so the way that is used every day is also the one that serves a crash.
 */
export class Watchdog {
  readonly #process: ChildProcess;
  readonly #ended: Promise<string>;

  /** The folder need not exist yet; it is removed in the end, with the log in it. */
  constructor(folder: string, logFile: string) {
    const script = fileURLToPath(new URL('./watchdog-process.mjs', import.meta.url));
    this.#process = spawn(process.execPath, [script, folder, logFile], {
      cwd: '/',
      detached: true, // its own session: Ctrl+C in our terminal is not for it
      env: cleanEnvironment(),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error) => resolve(error.message));
      this.#process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  /** Resolves with how the command ended, e.g. `exit code 0` or `SIGKILL`. One command at a time. */
  run(command: Command, onStart?: (pid: number) => void): Promise<string> {
    return new Promise((resolve) => {
      const onReport = (report: Report): void => {
        if ('pid' in report) {
          onStart?.(report.pid);
        } else {
          this.#process.off('message', onReport);
          resolve(report.ended);
        }
      };
      this.#process.on('message', onReport);
      void this.#ended.then((how) => resolve(`its watchdog ended: ${how}`));
      this.#send({ run: command });
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#send({ signal });
  }

  /** Whether it keeps our event loop alive: only while something of it is awaited. */
  keepAlive(isAwaited: boolean): void {
    const change = isAwaited ? 'ref' : 'unref';
    this.#process[change]();
    this.#process.channel?.[change]();
  }

  /** Stops the command, removes the folder. */
  async end(): Promise<void> {
    this.keepAlive(true);
    if (this.#process.connected) this.#process.disconnect();
    const how = await this.#ended;
    if (how !== 'exit code 0') throw new Error(`The watchdog of PostgreSQL ended too early: ${how}`);
  }

  #send(message: { run: Command } | { signal: NodeJS.Signals }): void {
    // A failure to send means that the watchdog is gone, which `#ended` reports.
    if (this.#process.connected) this.#process.send(message, () => {});
  }
}

/** Without PG* (PGDATA, PGPORT … would steer the server) and NODE_* (loaders, debuggers, coverage are for us). */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|NODE_|VITEST)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
