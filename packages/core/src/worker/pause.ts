import type { Clock } from '../observe/clock.js';

/** The wait of a loop, which others can end. */
export class Pause {
  readonly #clock: Clock;
  #end: () => void = () => {};
  #isTimed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether somebody waits for a time, and not only for `end`. */
  get isTimed(): boolean {
    return this.#isTimed;
  }

  /** Until the time is up, if there is one, or until `end`. */
  begin(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = ms === undefined ? undefined : this.#clock.schedule(ms, () => this.end());
      this.#isTimed = ms !== undefined;
      this.#end = () => {
        this.#isTimed = false;
        this.#end = () => {};
        cancel?.();
        resolve();
      };
    });
  }

  /** Harmless while nobody waits. */
  end(): void {
    this.#end();
  }
}
