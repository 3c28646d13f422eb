import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { absenceOf } from './absence.js';
import type { OutboxPublisher, PublisherCheckContext, PublisherProblem } from './outbox-publisher.js';

/** Where problems go. */
export type ReportProblem = (problem: PublisherProblem) => void;

/** Checks the settings of one publisher: at the start, or once a broker that was away then is back. */
export class PublisherCheck {
  readonly #publisher: OutboxPublisher;
  readonly #context: PublisherCheckContext;
  readonly #report: ReportProblem;
  /** The broker was away at the start, and the settings have not been checked since. */
  #isDue = false;
  #isRunning = false;

  constructor(publisher: OutboxPublisher, context: PublisherCheckContext, report: ReportProblem) {
    this.#publisher = publisher;
    this.#context = context;
    this.#report = report;
  }

  /** Reports the problems. `refuse` gets the required ones before anything is reported. */
  async run(refuse: (required: readonly PublisherProblem[]) => void): Promise<void> {
    const problems = (await this.#publisher.check?.(this.#context)) ?? [];
    this.#isDue = false;
    const required = problems.filter(({ level }) => level === 'required');
    if (required.length > 0) refuse(required);
    for (const problem of problems) this.#report(problem);
  }

  /** Runs the check if it is due and the broker answers now. */
  async runLate(): Promise<void> {
    if (!this.#isDue || this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.run(() => {});
    } catch (error) {
      if (!absenceOf(error)) this.failed(error);
    } finally {
      this.#isRunning = false;
    }
  }

  /** The broker is away: rows wait for it, and the check for the first of them to get through. */
  away(error: unknown): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#report({
      level: 'warning',
      problem: `not reachable at the start: ${errorText(error)}`,
      fix: 'nothing to do if it comes back: rows wait for it and keep their attempts',
    });
  }

  /** Too late to refuse the start. */
  failed(error: unknown): void {
    this.#isDue = false;
    this.#report({ level: 'required', problem: errorText(error), fix: 'fix it, and restart' });
  }
}

export function misconfigured(name: string, problems: readonly PublisherProblem[]): OutboxError {
  const list = problems.map(({ problem, fix }) => `${problem} (to fix it: ${fix})`).join('; ');
  return new OutboxError('INVALID_CONFIG', `publisher ${name}: ${list}`);
}
