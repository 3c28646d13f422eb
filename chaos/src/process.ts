import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ChildConfig, Command, Told } from './messages.js';

/** Only for what hangs: nothing is measured by it. */
const PATIENCE_MS = 60_000;
const LINES_KEPT = 40;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A real process, made of the sources of the packages. */
export class ChaosProcess {
  readonly name: string;
  readonly events: Extract<Told, { tell: 'signal' }>[] = [];
  /** What it had to abandon when it was stopped; undefined before. */
  abandoned: readonly string[] | undefined;
  readonly #child: ChildProcess;
  readonly #told: Told[] = [];
  readonly #exit: Promise<unknown>;
  #output = '';
  readonly #waiting = new Set<() => void>();
  #isReady = false;
  #isStopped = false;

  constructor(program: string, config: ChildConfig) {
    this.name = config.name;
    this.#child = fork(program, {
      execArgv: ['--enable-source-maps'],
      env: { ...process.env, CHAOS_CHILD: JSON.stringify(config) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    running.add(this.#child);
    this.#exit = once(this.#child, 'exit').then(() => {
      running.delete(this.#child);
      this.#look();
    });
    this.#child.on('message', (told: Told) => this.#hear(told));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (text: Buffer) => {
        this.#output = `${this.#output}${text}`.split('\n').slice(-LINES_KEPT).join('\n');
      });
    }
  }

  async ready(): Promise<void> {
    if (this.#isReady) return;
    await this.#heard('ready', ({ tell }) => tell === 'ready');
    this.#isReady = true;
  }

  /** Resolves when the process has stopped at its point. */
  stopsAtPoint(): Promise<void> {
    return this.#heard('at its point', ({ tell }) => tell === 'at');
  }

  send(command: Command): void {
    this.#child.send(command);
  }

  /** Sends, and waits until it is done. */
  async order(command: Command): Promise<void> {
    this.send(command);
    await this.#heard(command.do, (told) => told.tell === 'done' && told.what === command.do);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  suspend(): void {
    this.#isStopped = true;
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#isStopped = false;
    this.#child.kill('SIGCONT');
  }

  /** As an orchestrator does; waits until it has ended by itself. */
  async terminate(): Promise<void> {
    this.#child.kill('SIGTERM');
    await within(this.#exit, `${this.name} did not end after SIGTERM`);
  }

  async exited(): Promise<void> {
    await within(this.#exit, `${this.name} did not end`);
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it wrote, for people to read when something went wrong. */
  get output(): string {
    return this.#output;
  }

  heard(signal: string): string[] {
    return this.events.filter((told) => told.signal === signal).flatMap(({ ids }) => ids);
  }

  heardTimes(signal: string): number {
    return this.events.filter((told) => told.signal === signal).length;
  }

  async end(): Promise<void> {
    if (!this.isAlive) return;
    if (this.#isStopped) this.resume();
    await this.kill();
  }

  #hear(told: Told): void {
    if (told.tell === 'signal') this.events.push(told);
    else this.#told.push(told);
    if (told.tell === 'stopped') this.abandoned = told.abandoned;
    this.#look();
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }

  async #heard(what: string, isIt: (told: Told) => boolean): Promise<void> {
    const arrived = new Promise<void>((resolve, reject) => {
      const look = (): void => {
        const place = this.#told.findIndex(isIt);
        if (place >= 0) {
          this.#told.splice(place, 1);
          this.#waiting.delete(look);
          resolve();
        } else if (!this.isAlive) {
          this.#waiting.delete(look);
          reject(new Error(`${this.name} ended before it was ${what}:\n${this.#output}`));
        }
      };
      this.#waiting.add(look);
      look();
    });
    await within(arrived, `${this.name} was not ${what}`);
  }
}

async function within<T>(work: Promise<T>, problem: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${problem} within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
