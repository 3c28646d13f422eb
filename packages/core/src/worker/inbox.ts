/** A queue of events for a single reader, in the order they were posted. */
export class Inbox<Event> {
  readonly #events: Event[] = [];
  #wake: () => void = () => {};

  post(event: Event): void {
    this.#events.push(event);
    this.#wake();
  }

  async next(): Promise<Event> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
