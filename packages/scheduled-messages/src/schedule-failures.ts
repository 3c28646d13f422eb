import type { DispatchEvents } from '@postcommit/core';
import { type EventBus, ListenersFailedError } from '@postcommit/publisher-events';
import { ScheduleFailed } from './schedule-events.js';
import { envelopeOf } from './schedule-row.js';

/**
 * Publishes `ScheduleFailed` after a scheduled row is recorded as dead. The dispatcher does not wait for it. A failing
 * listener is reported as `listenerFailed`.
 */
export function publishFailures(events: DispatchEvents, bus: Pick<EventBus, 'publish'>): void {
  events.on('dead', async ({ row, error, reason }) => {
    const envelope = envelopeOf(row);
    if (!envelope) return;
    const { topic, metadata } = envelope;
    const failed = new ScheduleFailed(topic, {
      scheduledJobId: row.id,
      lastError: error,
      attempts: row.attempts,
      metadata,
      reason,
    });
    const delivery = await bus.publish(failed);
    if (delivery.failures.length > 0) throw new ListenersFailedError(delivery);
  });
}
