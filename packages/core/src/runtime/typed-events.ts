/** Emits events by name. A listener that fails or is slow never delays anything. */
export abstract class TypedEvents<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => unknown>>();

  /** Registers a listener. Returns an unsubscribe function. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  /** For the engine: calls every listener, even if others fail. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const result = (listener as (event: Events[Name]) => unknown)(event);
        // Any thenable, not only a Promise: an ORM query runs only when it is awaited.
        if (isThenable(result)) Promise.resolve(result).catch((error) => this.listenerFailed(name, error));
      } catch (error) {
        this.listenerFailed(name, error);
      }
    }
  }

  /** Whether an event has listeners. Lets callers skip costly work. */
  hasListeners(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  protected abstract listenerFailed(name: keyof Events, error: unknown): void;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Events in the order in which they happened, for one reader. */
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
      if (event) return event;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
