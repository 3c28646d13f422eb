import { UnavailableError } from '@postcommit/core';

/** What ends an attempt from outside. */
export interface AttemptBounds {
  /** The publish is given up. */
  readonly signal: AbortSignal;
  /** The publisher stops, and does not wait any longer. */
  readonly stopped: AbortSignal;
  readonly timeoutMs: number;
}

/** The time in which rows must be sent and confirmed. */
export class Attempt {
  /** Rejects when the time is over. */
  readonly #over: Promise<never>;
  readonly #dispose: () => void;

  constructor({ signal, stopped, timeoutMs }: AttemptBounds) {
    let fail: (reason: unknown) => void = () => {};
    this.#over = new Promise((_, reject) => {
      fail = reject;
    });
    // Whoever waits hears of it.
    this.#over.catch(() => {});
    const onAbort = (): void => fail(signal.reason);
    const onStop = (): void => fail(new UnavailableError('the publisher was stopped'));
    const onTime = (): void =>
      fail(new UnavailableError(`RabbitMQ did not confirm within ${timeoutMs} ms`, { cause: undefined }));
    const timer = setTimeout(onTime, timeoutMs);
    signal.addEventListener('abort', onAbort);
    stopped.addEventListener('abort', onStop);
    if (signal.aborted) onAbort();
    if (stopped.aborted) onStop();
    this.#dispose = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      stopped.removeEventListener('abort', onStop);
    };
  }

  /** Resolves as `work` does; rejects when the time is over. */
  within<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  end(): void {
    this.#dispose();
  }
}
