import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A process of the application, as a platform runs it. */
export class RunningProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: Interface;

  constructor(file: string, env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, ['--import', 'tsx', file], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = once(this.#child, 'close');
    process.once('exit', () => this.#child.kill()); // also if this process fails
    if (!this.#child.stdout) throw new Error(`${file} has no output`);
    this.#lines = createInterface(this.#child.stdout).on('line', (line) => console.log(line));
  }

  /** Resolves with the first line that matches. Call it before the line can be written. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      this.#lines.on('line', (line) => {
        const match = pattern.exec(line);
        if (match) resolve(match);
      });
      this.#lines.once('close', () => reject(new Error(`the process ended and never said ${pattern}`)));
    });
  }

  /** Returns the exit code. */
  async stop(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal) this.#child.kill(signal);
    await this.#ended;
    return this.#child.exitCode;
  }
}

/** Runs `npx outbox` with these arguments. Returns what it printed. */
export async function outboxCommand(...args: string[]): Promise<string> {
  console.log(`$ npx outbox ${args.join(' ')}`);
  const { stdout } = await run('node_modules/.bin/outbox', args);
  process.stdout.write(stdout);
  return stdout.trim();
}
