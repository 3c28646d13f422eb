import type { DeadReason, OutboxRow, OutboxSignals } from '@postcommit/core';
import { type EventBus, ListenersFailedError } from '@postcommit/publisher-events';
import { ScheduleFailed } from './schedule-events.js';
import { envelopeOf } from './schedule-row.js';

/**
 * Publishes `ScheduleFailed` when a scheduled row is dead: after that is in the table, and without waiting for it. A
 * listener that fails is told as `listenerFailed`.
 */
export function publishFailures(signals: OutboxSignals, bus: Pick<EventBus, 'publish'>): void {
  signals.on('dead', async ({ row, error, reason }) => {
    const envelope = envelopeOf(row);
    if (!envelope) return;
    const { topic, metadata } = envelope;
    const attempts = failedAttempts(row, reason);
    const failed = new ScheduleFailed(topic, {
      scheduledJobId: row.id,
      lastError: error,
      attempts,
      metadata,
      reason,
    });
    const delivery = await bus.publish(failed);
    if (delivery.failures.length > 0) throw new ListenersFailedError(delivery);
  });
}

/** The row is told as it was claimed, before the try that failed; some are given up without another try. */
function failedAttempts({ attempts, retry }: OutboxRow, reason: DeadReason): number {
  const wasTried = reason !== 'crashed' && attempts < (retry.maxAttempts ?? Number.POSITIVE_INFINITY);
  return wasTried ? attempts + 1 : attempts;
}
