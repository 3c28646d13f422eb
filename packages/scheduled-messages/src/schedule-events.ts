import type { DeadReason, OutboxTopic, PayloadOf, PublishContext } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';
import type { ScheduleEnvelope } from './schedule-envelope.js';
import type { ScheduleMetadata } from './schedule-spec.js';

export const SCHEDULE_ARRIVED = 'schedule.arrived';
export const SCHEDULE_FAILED = 'schedule.failed';

interface ArrivedFields {
  readonly name: typeof SCHEDULE_ARRIVED;
  /** The id of the schedule, the same at every attempt. Use it as the idempotency key. */
  readonly scheduledJobId: string;
  /** 1 at the first attempt. */
  readonly attempt: number;
  /** The metadata of the schedule; an empty object if there is none. */
  readonly metadata: ScheduleMetadata;
  /** The time it was scheduled for, the same at every attempt. */
  readonly runAt: Date;
  readonly timezone: string;
  /**
   * Aborts when listeners take longer than `publishTimeoutMs` or the claim is lost, e.g. after a cancel. Pass it to what
   * you call.
   */
  readonly signal: AbortSignal;
}

/**
 * A scheduled message is due. All listeners share one object: do not modify it. With declared topics, `event.topic`
 * narrows `event.payload`.
 */
export type ScheduleArrived<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & ArrivedFields
  : never;

/** Not a plain class, because the type is a union. */
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

  /** A getter, because the signal is created on first read. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }
};

interface FailedFields {
  readonly name: typeof SCHEDULE_FAILED;
  readonly scheduledJobId: string;
  readonly lastError: string;
  /** Failed attempts. */
  readonly attempts: number;
  readonly metadata: ScheduleMetadata;
  /** `exhausted` after the last attempt; `permanent` if every error of the listeners was permanent. */
  readonly reason: DeadReason;
}

/** A scheduled message has failed for good. Published once and not stored; the row keeps `lastError`. */
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
