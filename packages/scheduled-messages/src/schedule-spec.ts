import type { OutboxTopic, PayloadOf } from '@postcommit/core';
import type { ScheduleRetry } from './schedule-retry.js';

/** What an application keeps with a schedule: JSON, handed to the listeners as it is. */
export type ScheduleMetadata = Readonly<Record<string, unknown>>;

interface ScheduleOptions {
  /** 1 to 36 printable ASCII characters; one that exists is refused. Default: a UUIDv7. */
  readonly id?: string | undefined;
  /**
   * A `Date`, or a wall-clock time in `timezone` such as `2026-03-29T09:30`, which is fixed to its instant now. One in
   * the past is due at once.
   */
  readonly runAt: Date | string;
  /** The IANA name of a time zone. Needed for a wall-clock time; with a `Date` it is only remembered. Default UTC. */
  readonly timezone?: string | undefined;
  /** Frozen with the message. Default: the module's. */
  readonly retry?: ScheduleRetry | undefined;
  readonly metadata?: ScheduleMetadata | undefined;
}

/** A message and its time. With declared topics (`OutboxTopics`), `topic` discriminates `payload`. */
export type ScheduleSpec<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & ScheduleOptions
  : never;
