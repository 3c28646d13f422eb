import type { OutboxRow, OutboxState } from '@postcommit/core';
import type { ScheduleEnvelope } from './schedule-envelope.js';
import { DEFAULT_SCHEDULE_RETRY, type ScheduleRetryPolicy } from './schedule-retry.js';
import type { ScheduleMetadata } from './schedule-spec.js';

/**
 * `scheduled`: not attempted yet. `active`: being attempted, or waiting for its next attempt. `completed`: every
 * listener succeeded, or there was none. `failed`: given up. `cancelled`: by `cancel`. The last three are final.
 */
export type ScheduleStatus = 'scheduled' | 'active' | 'completed' | 'failed' | 'cancelled';

/** The current state of a scheduled message. */
export interface ScheduledMessage {
  readonly id: string;
  readonly topic: string;
  readonly payload: unknown;
  readonly metadata: ScheduleMetadata;
  readonly status: ScheduleStatus;
  /** The time it was scheduled for. */
  readonly runAt: Date;
  readonly timezone: string;
  readonly createdAt: Date;
  readonly retry: ScheduleRetryPolicy;
  /** Failed attempts. */
  readonly attempts: number;
  readonly lastError?: string;
  /** When it is due: at `runAt` or after a backoff. Only while it is `scheduled` or `active`. */
  readonly nextAttemptAt?: Date;
  /** Only when it is `completed`. */
  readonly completedAt?: Date;
  readonly failedAt?: Date;
  readonly cancelledAt?: Date;
}

/** The row state that corresponds to each status. */
export const STATE_OF_STATUS: Readonly<Record<ScheduleStatus, OutboxState>> = {
  scheduled: 'pending',
  active: 'pending',
  completed: 'dispatched',
  failed: 'dead',
  cancelled: 'dead',
};

export function statusOf(row: OutboxRow): ScheduleStatus {
  if (row.deadAt) return row.deadReason === 'cancelled' ? 'cancelled' : 'failed';
  if (row.dispatchedAt) return 'completed';
  return row.attempts > 0 || row.claimToken !== undefined ? 'active' : 'scheduled';
}

export function toScheduledMessage(row: OutboxRow, envelope: ScheduleEnvelope): ScheduledMessage {
  const { topic, payload, metadata, timezone } = envelope;
  const status = statusOf(row);
  return {
    id: row.id,
    topic,
    payload,
    metadata,
    status,
    runAt: new Date(envelope.runAt),
    timezone,
    createdAt: row.createdAt,
    retry: policyOf(row),
    attempts: row.attempts,
    ...(row.lastError !== undefined && { lastError: row.lastError }),
    ...endOf(row, status),
  };
}

function endOf(row: OutboxRow, status: ScheduleStatus): Partial<ScheduledMessage> {
  if (row.dispatchedAt) return { completedAt: row.dispatchedAt };
  if (!row.deadAt) return { nextAttemptAt: row.availableAt };
  return status === 'cancelled' ? { cancelledAt: row.deadAt } : { failedAt: row.deadAt };
}

function policyOf({ retry: { maxAttempts, backoff } }: OutboxRow): ScheduleRetryPolicy {
  const defaults = DEFAULT_SCHEDULE_RETRY;
  return {
    attempts: maxAttempts ?? defaults.attempts,
    backoff:
      backoff?.delayMs !== undefined ? { type: backoff.type, delay: backoff.delayMs } : defaults.backoff,
  };
}
