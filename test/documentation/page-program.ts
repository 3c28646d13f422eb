import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { onTestFinished, vi } from 'vitest';
import { root } from './pages.js';

type Files = Readonly<Record<string, string>>;

/** A program that a page shows, in a process of its own, on the source of the packages. */
export class PageProgram {
  /** What it wrote to standard output. */
  readonly lines: string[] = [];
  /** What it wrote to standard error: warnings of Node, or why it failed. */
  readonly complaints: string[] = [];
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;

  private constructor(folder: string, databaseUrl = '') {
    // tsx finds the packages' source in the tsconfig of the folder that it runs in.
    this.#process = spawn(process.execPath, ['--import', 'tsx', join(folder, 'src/main.ts')], {
      cwd: join(root, 'test'),
      env: { ...process.env, DATABASE_URL: databaseUrl, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#closed = once(this.#process, 'close');
    listen(this.#process.stdout, this.lines);
    listen(this.#process.stderr, this.complaints);
  }

  /** `files` by their paths, `src/main.ts` among them, or a function that makes them for a folder. */
  static async run(source: Files | ((folder: string) => Files), databaseUrl?: string): Promise<PageProgram> {
    // Inside the checkout, where the drivers are found.
    const folder = await mkdtemp(join(root, 'test/gen-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const files = typeof source === 'function' ? source(folder) : source;
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder, name, '..'), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const program = new PageProgram(folder, databaseUrl);
    onTestFinished(() => program.#end());
    return program;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    await this.#closed;
    return this.#process.exitCode ?? this.#process.signalCode;
  }

  /** As Ctrl-C does. Gives how it ended. */
  interrupt(): Promise<number | NodeJS.Signals | null> {
    return this.signal('SIGINT');
  }

  /** Returns how it ended. */
  async signal(signal: 'SIGINT' | 'SIGTERM'): Promise<number | NodeJS.Signals | null> {
    this.#process.kill(signal);
    return this.ended();
  }

  /** Resolves when the program has written a line that matches; throws if it ends before. */
  async says(line: RegExp): Promise<void> {
    const isSaid = (): boolean => this.lines.some((each) => line.test(each));
    await vi.waitUntil(() => this.hasEnded || isSaid(), { timeout: 60_000, interval: 20 });
    if (!isSaid()) throw new Error(`it ended and never said ${line}:\n${this.complaints.join('\n')}`);
  }

  async #end(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#closed;
  }
}

function listen(stream: Readable | null, lines: string[]): void {
  if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line));
}
