import { UnavailableError } from '@postcommit/core';

/** What ends an attempt from outside. */
export interface AttemptBounds {
  /** The publish is given up. */
  readonly signal: AbortSignal;
  /** The publisher stops, and does not wait any longer. */
  readonly stopped: AbortSignal;
  /** How long nothing may happen. */
  readonly timeoutMs: number;
}

/** The sending of some rows: ends when it is given up, and when the broker has been silent for too long. */
export class Attempt {
  readonly #bounds: AttemptBounds;
  readonly #over: Promise<never>;
  #fail: (reason: unknown) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #progressMs = performance.now();

  constructor(bounds: AttemptBounds) {
    this.#bounds = bounds;
    this.#over = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Whoever waits hears of it.
    this.#over.catch(() => {});
    const { signal, stopped, timeoutMs } = bounds;
    signal.addEventListener('abort', this.#givenUp);
    stopped.addEventListener('abort', this.#givenUp);
    if (signal.aborted || stopped.aborted) this.#givenUp();
    this.#timer = setTimeout(this.#timeIsUp, timeoutMs);
  }

  /** Resolves as `work` does; rejects when the attempt is over. */
  within<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  /** Something has happened, so the time begins anew. A large batch may take longer than one answer. */
  progressed(): void {
    this.#progressMs = performance.now();
  }

  end(): void {
    const { signal, stopped } = this.#bounds;
    clearTimeout(this.#timer);
    signal.removeEventListener('abort', this.#givenUp);
    stopped.removeEventListener('abort', this.#givenUp);
  }

  readonly #givenUp = (): void => {
    const { signal } = this.#bounds;
    this.#fail(signal.aborted ? signal.reason : new UnavailableError('the publisher was stopped'));
  };

  readonly #timeIsUp = (): void => {
    const { timeoutMs } = this.#bounds;
    const leftMs = this.#progressMs + timeoutMs - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(this.#timeIsUp, Math.ceil(leftMs));
    else this.#fail(new UnavailableError(`RabbitMQ has confirmed nothing for ${timeoutMs} ms`));
  };
}
