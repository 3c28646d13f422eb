import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Short, so that nobody waits five minutes for the claims of the one that is killed. */
export const CLAIM_TIMEOUT_MS = 3_000;

export type DispatcherReport =
  | { readonly kind: 'ready' | 'dead' | 'unavailable' }
  | {
      readonly kind: 'failed';
      readonly topic: string;
      readonly attempt: number;
      readonly error: string;
      readonly delayMs: number;
    };

export interface DispatcherListener {
  report(message: DispatcherReport): void;
  /** It ended, and nobody had asked it to. */
  crashed(error: Error): void;
}

/** Starts, watches and ends a process that runs `dispatcher.ts`. */
export class DispatcherProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  #isEnding = false;
  #wasKilled = false;

  constructor(name: string, environment: NodeJS.ProcessEnv, listener: DispatcherListener) {
    this.name = name;
    const script = fileURLToPath(new URL('./dispatcher.ts', import.meta.url));
    this.#child = fork(script, [name], {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message) => listener.report(message as DispatcherReport));
    this.#child.once('exit', (code, signal) => {
      if (!this.#isEnding)
        listener.crashed(new Error(`dispatcher ${name} ended by itself: ${signal ?? `exit code ${code}`}`));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  /** It settles nothing more and gives nothing back. */
  kill(): Promise<void> {
    this.#wasKilled = true;
    return this.#end('SIGKILL');
  }

  /** Halts it where it is; what it has sent to the database goes on there. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** It finishes what it has begun. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#isEnding = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }
}
