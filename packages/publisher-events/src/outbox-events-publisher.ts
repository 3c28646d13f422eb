import {
  nameToken,
  OutboxError,
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishContext,
} from '@postcommit/core';
import type { EventBus } from './event-bus.js';
import { ListenersFailedError } from './listeners-failed-error.js';
import { OutboxEvent } from './outbox-event.js';

export interface OutboxEventsPublisherOptions {
  /**
   * What becomes of a row that no listener hears: `dead`, with the reason `no-listener`, or `complete`, which counts
   * it as dispatched. Default `dead`: nothing is lost in silence.
   */
  readonly onNoListener?: 'dead' | 'complete' | undefined;
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
  readonly #onNoListener: 'dead' | 'complete';

  /** Takes a bus, or `EventSubscriptions`, which subscribe an application's listeners first. */
  constructor(bus: Pick<EventBus, 'publish'>, options: OutboxEventsPublisherOptions = {}) {
    super();
    this.#bus = bus;
    this.#onNoListener = resolveOnNoListener(options);
  }

  async publish(row: OutboxRow, context: PublishContext): Promise<void> {
    const delivery = await this.#bus.publish(new OutboxEvent(row, context));
    if (delivery.failures.length > 0) throw new ListenersFailedError(delivery);
    if (delivery.listeners === 0 && this.#onNoListener === 'dead') throw noListener(row);
  }
}

export function resolveOnNoListener({
  onNoListener = 'dead',
}: OutboxEventsPublisherOptions): 'dead' | 'complete' {
  if (onNoListener === 'dead' || onNoListener === 'complete') return onNoListener;
  const problem = `onNoListener must be 'dead' or 'complete', not ${JSON.stringify(onNoListener)}`;
  throw new OutboxError('INVALID_CONFIG', problem);
}

function noListener({ topic }: OutboxRow): PermanentError {
  const advice = "add one and requeue the row, or set onNoListener: 'complete'";
  return new PermanentError(`no listener for topic '${topic}'; ${advice}`, { reason: 'no-listener' });
}
