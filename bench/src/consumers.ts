import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { atEnd } from './at-end.js';
import type { Place, Subject } from './subject.js';

export interface Published {
  /** By `monotonicMs`. */
  readonly at: number;
  readonly orders: readonly number[];
}

export type FromConsumer =
  | { readonly kind: 'up' | 'started' }
  | { readonly kind: 'published'; readonly batches: readonly Published[]; readonly heapMiB?: number }
  | { readonly kind: 'stopped'; readonly peakMiB: number };

export interface ConsumerOptions {
  readonly processes: number;
  /** Also collects garbage and measures the heap, now and then. */
  readonly measureHeap?: boolean;
  onPublished(batches: readonly Published[], heapMiB?: number): void;
}

/** A subject's consumers, each in a process of its own. They are up before `start`. */
export class Consumers {
  readonly #members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.#members = members;
  }

  static async open(subject: Subject, place: Place, options: ConsumerOptions): Promise<Consumers> {
    const members = Array.from({ length: options.processes }, () => new Member(subject, place, options));
    const consumers = new Consumers(members);
    try {
      await consumers.#all('up');
    } catch (error) {
      await consumers.close();
      throw error;
    }
    return consumers;
  }

  async start(): Promise<void> {
    await this.#all('started', 'start');
  }

  /** When nothing more is published. Gives the most memory that any of them used. */
  async stop(): Promise<{ peakMiB: number }> {
    const answers = await this.#all('stopped', 'stop');
    return {
      peakMiB: Math.max(...answers.map((answer) => (answer.kind === 'stopped' ? answer.peakMiB : 0))),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.close()));
  }

  /** Rejects if one of them ends before it is asked to. */
  failure(): Promise<never> {
    return Promise.race(this.#members.map(({ failed }) => failed));
  }

  async #all(answer: FromConsumer['kind'], command?: string): Promise<FromConsumer[]> {
    return Promise.all(this.#members.map((member) => member.ask(answer, command)));
  }
}

class Member {
  readonly failed: Promise<never>;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<string, (message: FromConsumer) => void>();
  readonly #early = new Map<string, FromConsumer>();
  readonly #forget: () => void;

  constructor(subject: Subject, place: Place, { measureHeap, onPublished }: ConsumerOptions) {
    const env = {
      ...process.env,
      BENCH_SUBJECT: subject.id,
      BENCH_URL: place.url,
      BENCH_DATABASE: place.name,
    };
    this.#process = fork(new URL('./consumer-process.ts', import.meta.url), {
      env: measureHeap ? { ...env, BENCH_HEAP: 'yes' } : env,
      execArgv: ['--expose-gc', '--import', import.meta.resolve('tsx')],
    });
    this.#forget = atEnd(() => this.close());
    this.#process.on('message', (message: FromConsumer) => {
      if (message.kind === 'published') onPublished(message.batches, message.heapMiB);
      else this.#answered(message);
    });
    this.failed = new Promise((_, reject) => {
      this.#process.once('exit', (code) =>
        reject(new Error(`a process of ${subject.name} ended with code ${code}`)),
      );
    });
    // Rejects if somebody is waiting; otherwise it was asked to end.
    this.failed.catch(() => {});
  }

  async ask(answer: string, command?: string): Promise<FromConsumer> {
    const answered = new Promise<FromConsumer>((resolve) => {
      const early = this.#early.get(answer);
      if (early) resolve(early);
      else this.#waiting.set(answer, resolve);
    });
    if (command) this.#process.send(command);
    return Promise.race([answered, this.failed]);
  }

  async close(): Promise<void> {
    this.#forget();
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    if (this.#process.connected) this.#process.disconnect();
    await exited;
  }

  #answered(message: FromConsumer): void {
    this.#early.set(message.kind, message);
    this.#waiting.get(message.kind)?.(message);
  }
}
