import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { ExampleReadme } from './example-readme.js';

const run = promisify(execFile);

/** The program of a pasted example, started as its README says. */
export class RunningExample {
  readonly #child: ChildProcess;
  readonly #output: Promise<string>;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'close');
    if (!child.stdout || !child.stderr) throw new Error('the example was started without pipes');
    this.#output = Promise.all([text(child.stdout), text(child.stderr)]).then((both) => both.join(''));
  }

  /** What the README has the reader do before. */
  static async prepare({ preparation }: ExampleReadme, folder: string): Promise<void> {
    const environment = environmentIn(folder, {});
    // Prisma would download an engine that generating does not use: any program passes for it.
    const env = { ...environment, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
    for (const line of preparation) await run('sh', ['-c', line], { cwd: folder, env });
  }

  static start({ start }: ExampleReadme, folder: string, variables: NodeJS.ProcessEnv): RunningExample {
    const child = spawn('sh', ['-c', `exec ${start}`], {
      cwd: folder,
      env: environmentIn(folder, variables),
      // A group of its own: what it has started must not outlive a test that fails.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new RunningExample(child);
  }

  /** To the program alone, as a platform does. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  /** The exit code, or the signal that ended it, and all that it wrote. */
  async ended(): Promise<{ code: number | NodeJS.Signals | null; output: string }> {
    await this.#ended;
    return { code: this.#child.exitCode ?? this.#child.signalCode, output: await this.#output };
  }

  /** Ends what is left of it. */
  async end(): Promise<void> {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
    await this.#ended;
  }
}

/** What a reader's shell has: nothing of vitest, and no database but the one that is given. */
function environmentIn(folder: string, variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const {
    NODE_OPTIONS: _,
    NODE_ENV: __,
    VITEST: ___,
    DATABASE_URL: ____,
    MYSQL_URL: _____,
    ...rest
  } = process.env;
  const PATH = [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  return { ...rest, PATH, ...variables };
}
