import { OutboxError, OutboxPublisher, type OutboxRow, type PublishContext } from '@postcommit/core';
import { assertKnownOptions, nameToken } from '@postcommit/core/internal';
import type { EventBus } from './event-bus.js';
import { ListenersFailedError } from './listeners-failed-error.js';
import { NoListenerError, type NoListenerPolicy } from './no-listener-error.js';
import { OutboxEvent } from './outbox-event.js';

export interface OutboxEventsPublisherOptions {
  /**
   * What happens to a row without a listener. `dead`: it is dead with the reason `no-listener`, so nothing is lost
   * silently. `release`: it counts an attempt and waits for an instance with a listener, 5 s at first, doubled up to
   * 5 min, and is dead only after its last attempt. `complete`: it counts as dispatched.
   *
   * @default 'dead'
   */
  readonly onNoListener?: NoListenerPolicy | undefined;
}

/**
 * Publishes each row as an `OutboxEvent`. All listeners run, and the row is dispatched when all of them succeed. If one
 * fails, the row fails, and the next attempt runs all of them again: a listener must be idempotent by `event.id`.
 */
export class OutboxEventsPublisher extends OutboxPublisher {
  static {
    nameToken(this, '@postcommit/publisher-events/OutboxEventsPublisher');
  }

  readonly #bus: Pick<EventBus, 'publish'>;
  readonly #onNoListener: NoListenerPolicy;

  /** Takes a bus, or an `EventSubscriptions`, which subscribes the application's listeners first. */
  constructor(bus: Pick<EventBus, 'publish'>, options: OutboxEventsPublisherOptions = {}) {
    super();
    assertKnownOptions('OutboxEventsPublisher', options, { onNoListener: true });
    this.#bus = bus;
    this.#onNoListener = resolveOnNoListener(options);
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const delivery = await this.#bus.publish(new OutboxEvent(row, context));
    if (delivery.failures.length > 0) throw new ListenersFailedError(delivery);
    if (delivery.listeners > 0 || this.#onNoListener === 'complete') return;
    throw new NoListenerError(problemOf(row, this.#onNoListener), row, this.#onNoListener);
  }
}

export function resolveOnNoListener({
  onNoListener = 'dead',
}: OutboxEventsPublisherOptions): NoListenerPolicy {
  if (POLICIES.has(onNoListener)) return onNoListener;
  const problem = `onNoListener must be 'dead', 'release' or 'complete', not ${JSON.stringify(onNoListener)}`;
  throw new OutboxError('INVALID_CONFIG', problem);
}

const POLICIES: ReadonlySet<NoListenerPolicy> = new Set(['dead', 'release', 'complete']);

function problemOf({ topic }: OutboxRow, policy: NoListenerPolicy): string {
  if (policy === 'release')
    return `no listener for topic '${topic}' in this process; released for one that has a listener`;
  const advice = "add one and requeue the row, or set onNoListener: 'release' or 'complete'";
  return `no listener for topic '${topic}'; ${advice}`;
}
