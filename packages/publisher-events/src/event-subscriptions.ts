import { type Lifecycle, nameToken, OutboxError, TransientError } from '@postcommit/core';
import type { Delivery, EventBus } from './event-bus.js';
import type { Listener } from './listener.js';
import { listenersOf } from './listeners-of.js';

/**
 * Subscribes the listeners of an application to its bus: at `app.start()`, before any worker starts, or else when the
 * first event is published through it, so that a dispatch without a start finds them too. `app.stop()` unsubscribes.
 */
export class EventSubscriptions implements Lifecycle {
  static {
    nameToken(this, '@postcommit/publisher-events/EventSubscriptions');
  }

  readonly name = 'event listeners';
  readonly phase = 'resource';
  readonly #bus: EventBus;
  readonly #listeners: readonly Listener[];
  #unsubscribe: (() => void)[] | undefined;
  #isStopped = false;

  constructor(bus: EventBus, sources: Iterable<object>) {
    this.#bus = bus;
    this.#listeners = [...sources].flatMap(listenersOf);
    assertUniqueNames(this.#listeners);
  }

  start(): void {
    this.#isStopped = false;
    this.#subscribe();
  }

  stop(): void {
    this.#isStopped = true;
    for (const unsubscribe of this.#unsubscribe ?? []) unsubscribe();
    this.#unsubscribe = undefined;
  }

  /** Publishes on the bus, with the listeners subscribed. */
  async publish(event: object): Promise<Delivery> {
    // Without its listeners an event would look unheard, and its row would be dead: it has to wait instead.
    if (this.#isStopped) throw new TransientError('the application has stopped, and its listeners with it');
    this.#subscribe();
    return this.#bus.publish(event);
  }

  #subscribe(): void {
    this.#unsubscribe ??= this.#listeners.map((listener) => this.#bus.subscribe(listener));
  }
}

function assertUniqueNames(listeners: readonly Listener[]): void {
  const origins = new Map<string, string>();
  for (const { name, origin } of listeners) {
    const first = origins.get(name);
    if (first !== undefined) {
      const problem = `two listeners are called '${name}': ${first} and ${origin}; give each a name of its own`;
      throw new OutboxError('INVALID_CONFIG', problem);
    }
    origins.set(name, origin);
  }
}
