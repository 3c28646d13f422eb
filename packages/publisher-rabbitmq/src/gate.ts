/** Lets callers wait while something is in the way. */
export class Gate {
  #isOpen = true;
  #passed: Promise<void> = Promise.resolve();
  #open: () => void = () => {};

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves when the gate is open. */
  pass(): Promise<void> {
    return this.#passed;
  }

  shut(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#passed = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#isOpen = true;
    this.#open();
  }
}
