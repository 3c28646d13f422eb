import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A line of a ticking process. */
export interface Said {
  readonly signal: string;
  readonly scheduledAt?: string;
  readonly reason?: string;
}

/** A process of its own that runs fixtures/ticking-process.ts. */
export class TickingInstance {
  readonly name: string;
  readonly said: Said[] = [];
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  #errors = '';
  readonly #news = new EventEmitter();

  constructor(name: string, databaseUrl: string, clockBehindMs = 0) {
    this.name = name;
    const script = fileURLToPath(new URL('./fixtures/ticking-process.ts', import.meta.url));
    // tsx finds the packages' source by the paths of the tsconfig of the folder it runs in.
    this.#process = spawn(process.execPath, ['--import', 'tsx', script], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        INSTANCE: name,
        CLOCK_BEHIND_MS: String(clockBehindMs),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#closed = once(this.#process, 'close').then(() => this.#news.emit('news'));
    this.#listen();
    onTestFinished(() => this.kill());
  }

  /** Resolves when the process has said this many lines that match. */
  async hasSaid(matches: (said: Said) => boolean, count = 1): Promise<Said[]> {
    for (;;) {
      const found = this.said.filter(matches);
      if (found.length >= count) return found;
      if (this.#process.exitCode !== null || this.#process.signalCode !== null)
        throw new Error(`${this.name} ended early: ${this.#errors}`);
      await once(this.#news, 'news');
    }
  }

  /** Gives the exit code of a clean stop. */
  async stop(): Promise<number | null> {
    this.#process.stdin?.end();
    await this.#closed;
    return this.#process.exitCode;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#closed;
  }

  #listen(): void {
    this.#process.stderr?.on('data', (chunk) => {
      this.#errors += String(chunk);
    });
    if (!this.#process.stdout) return;
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      this.said.push(JSON.parse(line) as Said);
      this.#news.emit('news');
    });
  }
}
