import { ExitCode } from './command-error.js';

const CODES = { SIGINT: ExitCode.interrupted, SIGTERM: ExitCode.terminated } as const;
type Signal = keyof typeof CODES;

/**
 * Handles Ctrl-C and SIGTERM while a batch runs. The first signal lets the batch finish, because its rows would otherwise
 * wait until their claims expire. A second signal exits at once.
 */
export class Interruption {
  #exitCode: number | undefined;
  readonly #onSignal: (signal: Signal) => void;

  constructor(onFirst: () => void, onSecond: (exitCode: number) => void) {
    this.#onSignal = (signal) => {
      if (this.#exitCode !== undefined) return onSecond(this.#exitCode);
      this.#exitCode = CODES[signal];
      onFirst();
    };
    for (const signal of signals()) process.on(signal, this.#onSignal);
  }

  /** The exit code for the signal that arrived. Undefined until then. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  end(): void {
    for (const signal of signals()) process.off(signal, this.#onSignal);
  }
}

function signals(): Signal[] {
  return Object.keys(CODES) as Signal[];
}
