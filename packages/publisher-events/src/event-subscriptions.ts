import { type Lifecycle, OutboxError, TransientError } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';
import type { Delivery, EventBus } from './event-bus.js';
import type { Listener } from './listener.js';
import { listenersOf } from './listeners-of.js';

/**
 * Subscribes the listeners of an application to its bus at `app.start()`, before any worker starts. Without a start, the
 * first `publish` subscribes them. `app.stop()` unsubscribes them.
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

  /**
   * Publishes on the bus, subscribing the listeners first if needed.
   *
   * @throws TransientError after `stop`.
   */
  async publish(event: object): Promise<Delivery> {
    // Without listeners the row would be dead as `no-listener`. It must be retried instead.
    if (this.#isStopped) throw new TransientError('the application has stopped, and so have its listeners');
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
      const problem = `two listeners are called '${name}': ${first} and ${origin}; give each a unique name`;
      throw new OutboxError('INVALID_CONFIG', problem);
    }
    origins.set(name, origin);
  }
}
