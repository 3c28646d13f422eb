import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A file of the tests in a process of its own. */
export class NestProcess {
  readonly lines: string[] = [];
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #news = new EventEmitter();

  constructor(file: string, environment: Readonly<Record<string, string>>, args: readonly string[] = []) {
    const script = fileURLToPath(new URL(file, import.meta.url));
    // tsx finds the packages' source, and that decorators are wanted, in the tsconfig of the folder it runs in.
    this.#process = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { ...process.env, NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#closed = once(this.#process, 'close').then(() => this.#news.emit('news'));
    for (const stream of [this.#process.stdout, this.#process.stderr]) this.#listen(stream);
    onTestFinished(async () => {
      this.#process.kill('SIGKILL');
      await this.#closed;
    });
  }

  /** Resolves to what the pattern captured, once a line matches. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      for (const line of this.lines) {
        const found = pattern.exec(line);
        if (found) return found[1] ?? line;
      }
      if (this.#process.exitCode !== null || this.#process.signalCode !== null)
        throw new Error(`it ended before it said ${pattern}:\n${this.lines.join('\n')}`);
      await once(this.#news, 'news');
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    await this.#closed;
    return this.#process.exitCode ?? this.#process.signalCode;
  }

  #listen(stream: NodeJS.ReadableStream | null): void {
    if (!stream) return;
    createInterface({ input: stream }).on('line', (line) => {
      this.lines.push(line);
      this.#news.emit('news');
    });
  }
}
