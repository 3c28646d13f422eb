import type { OutboxTopic } from '@postcommit/core';
import type { ScheduleMetadata } from './schedule-spec.js';

/** The payload of a scheduled row. */
export interface ScheduleEnvelope {
  readonly topic: OutboxTopic;
  /** ISO 8601. Stored here because the row's `availableAt` changes with each retry. */
  readonly runAt: string;
  readonly timezone: string;
  readonly payload: unknown;
  readonly metadata: ScheduleMetadata;
}
