import type { HintKind, WakeupListener, WakeupStatus } from '@postcommit/core/internal';

type Happening = 'hint' | 'listening' | 'retrying' | 'given up';

/** A listener that writes down what it hears, and lets a test wait for it. */
export class WakeupRecord implements WakeupListener {
  readonly happened: Happening[] = [];
  /** Of the hints. */
  readonly kinds: HintKind[] = [];
  readonly errors: unknown[] = [];
  #read = 0;
  #tell: () => void = () => {};

  onHint(kind: HintKind): void {
    this.kinds.push(kind);
    this.#add('hint');
  }

  onStatus(status: WakeupStatus): void {
    if (!status.isListening) this.errors.push(status.error);
    this.#add(status.isListening ? 'listening' : status.willRetry ? 'retrying' : 'given up');
  }

  /** The next `count` happenings that were not given yet, as soon as they are there. */
  async next(count = 1): Promise<Happening[]> {
    while (this.happened.length < this.#read + count) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
      });
    }
    this.#read += count;
    return this.happened.slice(this.#read - count, this.#read);
  }

  /** What was not given yet. */
  rest(): Happening[] {
    const rest = this.happened.slice(this.#read);
    this.#read = this.happened.length;
    return rest;
  }

  #add(happening: Happening): void {
    this.happened.push(happening);
    this.#tell();
  }
}
