/** A restart of what several programs use, once all of them are ready for it. */
export class SharedRestart {
  readonly #restarted: Promise<void>;
  readonly #restart: () => Promise<void>;
  #missing: number;
  #done: () => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor(programs: number, restart: () => Promise<void>) {
    this.#missing = programs;
    this.#restart = restart;
    this.#restarted = new Promise((resolve, reject) => {
      this.#done = resolve;
      this.#fail = reject;
    });
    this.#restarted.catch(() => {});
  }

  /** One more is ready. Resolves after the restart. */
  whenAllAreReady(): Promise<void> {
    this.#missing -= 1;
    if (this.#missing === 0) this.#restart().then(this.#done, this.#fail);
    return this.#restarted;
  }

  /** One will never be ready: nobody waits any longer. */
  fail(error: unknown): never {
    this.#fail(error);
    throw error;
  }
}
