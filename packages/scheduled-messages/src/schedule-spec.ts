import type { OutboxTopic, PayloadOf } from '@postcommit/core';
import type { ScheduleRetry } from './schedule-retry.js';

/** Application data stored with a schedule: a JSON object, passed to the listeners unchanged. */
export type ScheduleMetadata = Readonly<Record<string, unknown>>;

interface ScheduleOptions {
  /**
   * 1 to 36 printable ASCII characters. An id that exists is rejected with `DUPLICATE_ID`.
   *
   * @default a UUIDv7
   */
  readonly id?: string | undefined;
  /**
   * A `Date`, or a wall-clock time in `timezone` such as `2026-03-29T09:30`, which is converted to an instant now. A
   * time in the past is due at once.
   */
  readonly runAt: Date | string;
  /**
   * The IANA name of a time zone. Required for a wall-clock time; with a `Date` it is only stored.
   *
   * @default 'UTC'
   */
  readonly timezone?: string | undefined;
  /**
   * Stored with the message, so later changes of the module's policy do not affect it.
   *
   * @default the module's
   */
  readonly retry?: ScheduleRetry | undefined;
  readonly metadata?: ScheduleMetadata | undefined;
}

/** A message and its time. With declared topics (`OutboxTopics`), `topic` narrows `payload`. */
export type ScheduleSpec<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & ScheduleOptions
  : never;
