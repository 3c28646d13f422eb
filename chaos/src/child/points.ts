import type { ChildConfig, Told } from '../messages.js';

export function tell(told: Told): void {
  process.send?.(told);
}

/**
 * Stops this process at the point it was told, until it is told to go on: no window has to be hit. Who comes by again
 * meanwhile, because a call took too long for the engine and was made anew, waits there too.
 */
export class Points {
  readonly #stopAt: string | undefined;
  readonly #pattern: RegExp | undefined;
  #statementsLeft: number;
  #stop: Promise<void> | undefined;
  #goOn: () => void = () => {};

  constructor({ stopAt, stopAtStatement }: ChildConfig) {
    this.#stopAt = stopAt;
    this.#pattern = stopAtStatement && new RegExp(stopAtStatement.pattern, 'i');
    this.#statementsLeft = stopAtStatement?.nth ?? 0;
  }

  readonly reach = async (point: string): Promise<void> => {
    if (point === this.#stopAt) await this.#wait(point);
  };

  readonly beforeStatement = async (text: string): Promise<void> => {
    if (!this.#pattern?.test(text)) return;
    this.#statementsLeft -= 1;
    if (this.#statementsLeft === 0) await this.#wait(text);
  };

  goOn(): void {
    this.#goOn();
  }

  /** Once released, the point no longer stops anyone. */
  #wait(point: string): Promise<void> {
    this.#stop ??= new Promise((resolve) => {
      this.#goOn = resolve;
      tell({ tell: 'at', point });
    });
    return this.#stop;
  }
}
