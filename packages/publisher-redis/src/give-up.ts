import { setMaxListeners } from 'node:events';

/** Ends waits when a signal aborts. The client has no signals of its own. */
export class GiveUp {
  readonly signal: AbortSignal;
  readonly #aborted: Promise<never>;
  readonly #onAbort: () => void;

  constructor(signal: AbortSignal) {
    this.signal = signal;
    // Each command of a pipeline listens.
    setMaxListeners(0, signal);
    let reject: (reason: unknown) => void = () => {};
    this.#aborted = new Promise<never>((_, rejectAborted) => {
      reject = rejectAborted;
    });
    this.#aborted.catch(() => {});
    this.#onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Begins `work`, and resolves as it does, unless the signal aborts before. */
  async orResult<T>(work: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return Promise.race([work(), this.#aborted]);
  }

  end(): void {
    this.signal.removeEventListener('abort', this.#onAbort);
  }
}
