/** Aborts a request when its time is over, or when the caller's signal aborts. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #late: () => Error;
  #timer: NodeJS.Timeout;

  constructor(caller: AbortSignal, timeoutMs: number, late: () => Error) {
    this.#caller = caller;
    this.#late = late;
    this.#timer = this.#startTimer(timeoutMs);
    // Not AbortSignal.any: a signal that lives long would keep what it has seen.
    if (caller.aborted) this.#onCallerAborts();
    else caller.addEventListener('abort', this.#onCallerAborts);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, only this time is left. */
  leave(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = this.#startTimer(timeoutMs);
  }

  /** Resolves as `work` does, or rejects when the time is over. */
  async within<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    let stopWaiting = (): void => {};
    const over = new Promise<never>((_, reject) => {
      stopWaiting = () => signal.removeEventListener('abort', giveUp);
      const giveUp = (): void => reject(signal.reason);
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp);
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      stopWaiting();
    }
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Call it at the end: nothing remains. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onCallerAborts);
  }

  readonly #onCallerAborts = (): void => this.abort(this.#caller.reason);

  #startTimer(timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => this.abort(this.#late()), timeoutMs);
  }
}
