import { OutboxPublisher, type OutboxRow, PermanentError, type PublishContext } from '@postcommit/core';
import { type Listener, MemoryEventBus, OutboxEventsPublisher } from '@postcommit/publisher-events';

/**
 * Publishes to the `@OnOutboxEvent` methods of this process: all that match run, and the event is SENT when all
 * succeeded. One that nobody handles is FAILED at once.
 */
export class OutboxHandlers extends OutboxPublisher {
  readonly #discover: () => readonly Listener[];
  readonly #bus = new MemoryEventBus();
  readonly #events = new OutboxEventsPublisher(this.#bus);
  #handlers: readonly Listener[] | undefined;

  constructor(discover: () => readonly Listener[]) {
    super();
    this.#discover = discover;
  }

  /** Finds the handlers, once: at the start, or else when a command dispatches without one. */
  find(): readonly Listener[] {
    if (this.#handlers) return this.#handlers;
    const handlers = this.#discover();
    for (const handler of handlers) this.#bus.subscribe(handler);
    this.#handlers = handlers;
    return handlers;
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    if (!this.find().some((handler) => handler.accepts(row))) throw noHandler(row);
    await this.#events.publish(row, context);
  }
}

function noHandler({ topic }: OutboxRow): PermanentError {
  const problem = `no handler for event type '${topic}'; add a provider with @OnOutboxEvent('${topic}') and requeue the row`;
  return new PermanentError(problem, { reason: 'no-listener' });
}
