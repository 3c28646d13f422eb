import type { SimClock } from './sim-clock.js';

/** A promise of the design that was broken, by its number, and how. */
export interface Violation {
  readonly promise: `I${number}`;
  readonly text: string;
}

/**
 * What happened in one run, for people to read, and the first promise that was broken. Checks never throw: they are
 * called from inside stores and publishers, where the engine would take an error for one of theirs.
 */
export class History {
  readonly lines: string[] = [];
  /** How often something happened: a simulation in which nothing goes wrong proves nothing. */
  readonly counts = new Map<string, number>();
  readonly #clock: SimClock;
  readonly #isTraced: boolean;
  #violation: Violation | undefined;

  constructor(clock: SimClock, isTraced: boolean) {
    this.#clock = clock;
    this.#isTraced = isTraced;
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** The text is made only if somebody will read it. */
  note(who: string, what: string, detail: () => string = () => ''): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    if (!this.#isTraced) return;
    const at = this.#clock.elapsedMs.toFixed(1).padStart(9);
    this.lines.push(`${at}  ${who.padEnd(8)} ${what} ${detail()}`.trimEnd());
  }

  violated(promise: Violation['promise'], text: string): void {
    this.note('checker', 'VIOLATION', () => `${promise}: ${text}`);
    this.#violation ??= { promise, text };
  }
}
