import {
  nameToken,
  OutboxError,
  OutboxPublisher,
  type OutboxRow,
  type PublishContext,
} from '@postcommit/core';
import type { EventBus } from './event-bus.js';
import { ListenersFailedError } from './listeners-failed-error.js';
import { NoListenerError, type NoListenerPolicy } from './no-listener-error.js';
import { OutboxEvent } from './outbox-event.js';

export interface OutboxEventsPublisherOptions {
  /**
   * What becomes of a row that no listener hears: `dead`, with the reason `no-listener`; `release`, which counts an
   * attempt and leaves the row to an instance that has a listener, after 5 s at first, doubled up to 5 min, and dead
   * only after its last attempt; or `complete`, which counts it as dispatched.
   *
   * @default 'dead': nothing is lost in silence
   */
  readonly onNoListener?: NoListenerPolicy | undefined;
}

/**
 * Publishes each row as an `OutboxEvent`. All listeners run; the row is dispatched when all of them succeeded. If one
 * fails, the row fails, and at the next try all of them run again: a listener must be idempotent by `event.id`.
 */
export class OutboxEventsPublisher extends OutboxPublisher {
  static {
    nameToken(this, '@postcommit/publisher-events/OutboxEventsPublisher');
  }

  readonly #bus: Pick<EventBus, 'publish'>;
  readonly #onNoListener: NoListenerPolicy;

  /** Takes a bus, or `EventSubscriptions`, which subscribe an application's listeners first. */
  constructor(bus: Pick<EventBus, 'publish'>, options: OutboxEventsPublisherOptions = {}) {
    super();
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
