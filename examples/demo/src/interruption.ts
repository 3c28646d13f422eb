const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Turns Ctrl-C and the like into an abort, so that nothing is left running. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals): void => this.#controller.abort(signal);

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    // `npm run demo | head`: nobody reads any more.
    process.stdout.on('error', () => this.#controller.abort('SIGHUP'));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** After all is tidy: dies by the signal that came, which tells a calling shell that this was an interrupt. */
  pass(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    if (this.signal.aborted) process.kill(process.pid, this.signal.reason as NodeJS.Signals);
  }
}
