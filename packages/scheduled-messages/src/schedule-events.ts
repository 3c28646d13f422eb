import {
  type DeadReason,
  nameToken,
  type OutboxTopic,
  type PayloadOf,
  type PublishContext,
} from '@postcommit/core';
import type { ScheduleEnvelope } from './schedule-envelope.js';
import type { ScheduleMetadata } from './schedule-spec.js';

export const SCHEDULE_ARRIVED = 'schedule.arrived';
export const SCHEDULE_FAILED = 'schedule.failed';

interface ArrivedFields {
  readonly name: typeof SCHEDULE_ARRIVED;
  /** The id of the schedule, the same at every try: the idempotency key. */
  readonly scheduledJobId: string;
  /** 1 at the first try. */
  readonly attempt: number;
  /** What was handed in; an empty object where there was none. */
  readonly metadata: ScheduleMetadata;
  /** The time it was scheduled for, at every try. */
  readonly runAt: Date;
  readonly timezone: string;
  /** Aborts when listeners take longer than `publishTimeoutMs`, or the claim is lost, by a cancel for one. Hand it on. */
  readonly signal: AbortSignal;
}

/**
 * The time of a scheduled message has come. All listeners get the same object: do not change it. With declared topics,
 * `event.topic` discriminates `event.payload`.
 */
export type ScheduleArrived<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & ArrivedFields
  : never;

/** A class as a value, a union as a type: hence no plain class. */
export const ScheduleArrived: new (
  scheduledJobId: string,
  envelope: ScheduleEnvelope,
  context: PublishContext,
) => ScheduleArrived = class implements ArrivedFields {
  static {
    nameToken(this, '@postcommit/scheduled-messages/ScheduleArrived');
  }

  readonly name = SCHEDULE_ARRIVED;
  readonly scheduledJobId: string;
  readonly topic: OutboxTopic;
  readonly payload: PayloadOf<OutboxTopic>;
  readonly attempt: number;
  readonly metadata: ScheduleMetadata;
  readonly runAt: Date;
  readonly timezone: string;
  readonly #context: PublishContext;

  constructor(scheduledJobId: string, envelope: ScheduleEnvelope, context: PublishContext) {
    this.scheduledJobId = scheduledJobId;
    this.topic = envelope.topic;
    this.payload = envelope.payload as PayloadOf<OutboxTopic>;
    this.attempt = context.attempt;
    this.metadata = envelope.metadata;
    this.runAt = new Date(envelope.runAt);
    this.timezone = envelope.timezone;
    this.#context = context;
  }

  /** Asked for on demand: it is made when first read. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }
};

interface FailedFields {
  readonly name: typeof SCHEDULE_FAILED;
  readonly scheduledJobId: string;
  readonly lastError: string;
  /** Tries that failed. */
  readonly attempts: number;
  readonly metadata: ScheduleMetadata;
  /** `exhausted` after the last attempt; `permanent` where all listeners that failed said that trying again can't help. */
  readonly reason: DeadReason;
}

/** A scheduled message was given up. Told once, and not stored: the row itself keeps `lastError`. */
export type ScheduleFailed<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic } & FailedFields
  : never;

export const ScheduleFailed: new (topic: OutboxTopic, fields: Omit<FailedFields, 'name'>) => ScheduleFailed =
  class implements FailedFields {
    static {
      nameToken(this, '@postcommit/scheduled-messages/ScheduleFailed');
    }

    readonly name = SCHEDULE_FAILED;
    readonly scheduledJobId: string;
    readonly topic: OutboxTopic;
    readonly lastError: string;
    readonly attempts: number;
    readonly metadata: ScheduleMetadata;
    readonly reason: DeadReason;

    constructor(topic: OutboxTopic, fields: Omit<FailedFields, 'name'>) {
      this.scheduledJobId = fields.scheduledJobId;
      this.topic = topic;
      this.lastError = fields.lastError;
      this.attempts = fields.attempts;
      this.metadata = fields.metadata;
      this.reason = fields.reason;
    }
  };
