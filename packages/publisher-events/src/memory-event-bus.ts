import { tokenKey } from '@postcommit/core/internal';
import { type Delivery, EventBus, type ListenerFailure } from './event-bus.js';
import type { EventClass } from './event-class.js';
import type { Listener } from './listener.js';

/**
 * An in-process event bus. It calls listeners in the order they subscribed and runs them concurrently, so a slow or
 * hanging listener never keeps the others from being called.
 */
export class MemoryEventBus extends EventBus {
  readonly #listeners = new Map<unknown, Set<Listener>>();

  subscribe<Event extends object>(listener: Listener<Event>): () => void {
    const key = tokenKey(listener.event);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener as Listener));
    return () => {
      listeners.delete(listener as Listener);
    };
  }

  async publish(event: object): Promise<Delivery> {
    const subscribed = this.#listeners.get(tokenKey(event.constructor as EventClass)) ?? [];
    const listeners = [...subscribed].filter((listener) => listener.accepts(event));
    const results = await Promise.all(listeners.map((listener) => callListener(listener, event)));
    return { listeners: listeners.length, failures: results.filter((failure) => failure !== undefined) };
  }
}

async function callListener(listener: Listener, event: object): Promise<ListenerFailure | undefined> {
  try {
    await listener.handle(event);
    return undefined;
  } catch (error) {
    return { listener: listener.name, error };
  }
}
