import type { Clock } from '@postcommit/core';

/** Whoever waits longer for an answer waits for something that is not there: a connection, for one. */
export const UNANSWERED_MS = 1_000;

/** Whether what is asked is answered at present. */
export class AnswerWatch {
  readonly #clock: Clock;
  /** In the order in which they were asked. */
  readonly #open = new Set<{ readonly askedAtMs: number }>();
  #hasFailed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isAnswering(): boolean {
    const [oldest] = this.#open;
    const isLate = oldest !== undefined && this.#clock.monotonicMs() - oldest.askedAtMs >= UNANSWERED_MS;
    return !(isLate || this.#hasFailed);
  }

  async of<T>(answer: Promise<T>): Promise<T> {
    const question = { askedAtMs: this.#clock.monotonicMs() };
    this.#open.add(question);
    try {
      const answered = await answer;
      this.#hasFailed = false;
      return answered;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#open.delete(question);
    }
  }
}
