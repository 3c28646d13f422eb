import { ExitCode } from './command-error.js';

const CODES = { SIGINT: ExitCode.interrupted, SIGTERM: ExitCode.terminated } as const;
type Signal = keyof typeof CODES;

/**
 * Listens for Ctrl-C and SIGTERM while work is done that should end at a good place: a batch in hand would otherwise
 * wait for its claims to expire. A second signal ends the process at once.
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

  /** How to end; undefined as long as nobody asked for it. */
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
