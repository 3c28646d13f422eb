import { OutboxPublisher, type OutboxRow, type PublishContext } from '@postcommit/core';
import {
  type Listener,
  MemoryEventBus,
  NoListenerError,
  type NoListenerPolicy,
  OutboxEventsPublisher,
} from '@postcommit/publisher-events';

/**
 * Publishes to the `@OnOutboxEvent` methods of this process. All that match run, and the event is SENT when all of them
 * succeed. `onNoListener` decides what happens to an event without a handler.
 */
export class OutboxHandlers extends OutboxPublisher {
  readonly #discover: () => readonly Listener[];
  readonly #bus = new MemoryEventBus();
  readonly #events: OutboxEventsPublisher;
  readonly #onNoListener: NoListenerPolicy;
  #handlers: readonly Listener[] | undefined;

  constructor(discover: () => readonly Listener[], onNoListener: NoListenerPolicy) {
    super();
    this.#discover = discover;
    this.#onNoListener = onNoListener;
    this.#events = new OutboxEventsPublisher(this.#bus, { onNoListener });
  }

  /** Finds the handlers once: at startup, or when a command dispatches without starting the application. */
  find(): readonly Listener[] {
    if (this.#handlers) return this.#handlers;
    const handlers = this.#discover();
    for (const handler of handlers) this.#bus.subscribe(handler);
    this.#handlers = handlers;
    return handlers;
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    if (this.find().some((handler) => handler.accepts(row))) return this.#events.publish(row, context);
    if (this.#onNoListener === 'complete') return;
    throw new NoListenerError(problemOf(row, this.#onNoListener), row, this.#onNoListener);
  }
}

function problemOf({ topic }: OutboxRow, policy: NoListenerPolicy): string {
  const decorator = `@OnOutboxEvent('${topic}')`;
  if (policy === 'release')
    return `no handler for event type '${topic}' in this process; released for one with ${decorator}`;
  return `no handler for event type '${topic}'; add a provider with ${decorator} and requeue the row`;
}
