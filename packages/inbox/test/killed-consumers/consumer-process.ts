import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../../../../internal/test-database/src/bundle-program.js';
import type { ConsumerOrder, ConsumerReport } from './consumer-order.js';

const packageFolder = fileURLToPath(new URL('../..', import.meta.url));
const OUTPUT_KEPT = 2_000;

/** The program as one file, in the package: it finds the drivers there. */
export class ConsumerProgram {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build(): Promise<ConsumerProgram> {
    const folder = join(packageFolder, 'node_modules/.cache', `consumer-${randomBytes(6).toString('hex')}`);
    await bundleProgram({
      entry: join(packageFolder, 'test/killed-consumers/consumer-program.ts'),
      tsconfig: join(packageFolder, 'tsconfig.json'),
      outFolder: folder,
      external: ['pg', 'amqplib', /^@nats-io\//],
    });
    return new ConsumerProgram(folder);
  }

  start(order: ConsumerOrder): ConsumerProcess {
    return new ConsumerProcess(join(this.#folder, 'consumer-program.mjs'), order);
  }

  remove(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }
}

type ReportAt<At> = Extract<ConsumerReport, { at: At }>;

/** A real process. Ends with the process of the test. */
export class ConsumerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  readonly #reports: ConsumerReport[] = [];
  #output = '';
  #isKilled = false;

  constructor(program: string, order: ConsumerOrder) {
    this.#child = fork(program, {
      env: { ...process.env, CONSUMER_ORDER: JSON.stringify(order) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (text) => {
        this.#output = `${this.#output}${text}`.slice(-OUTPUT_KEPT);
      });
    this.#child.on('message', (report: ConsumerReport) => this.#reports.push(report));
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error(`the consumer ended by itself: ${this.#output}`);
    });
    this.#ended.catch(() => {});
  }

  /** Resolves when it has reported this. */
  async reaches<At extends ConsumerReport['at']>(at: At): Promise<ReportAt<At>> {
    for (;;) {
      const found = this.#reports.find((report): report is ReportAt<At> => report.at === at);
      if (found) return found;
      await Promise.race([once(this.#child, 'message'), this.#ended]);
    }
  }

  /** SIGKILL: it can neither finish nor say goodbye. */
  async kill(): Promise<void> {
    if (this.#isKilled) return;
    this.#isKilled = true;
    this.#child.kill('SIGKILL');
    await this.#ended.catch(() => {});
  }
}
