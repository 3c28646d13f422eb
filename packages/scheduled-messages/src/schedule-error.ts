/** Stable error codes: switch on them, not on messages. */
export type ScheduleErrorCode = 'SCHEDULE_RETRY_POLICY_INVALID';

/** A schedule broke a rule that only schedules have; nothing was stored. Other rules throw an `OutboxError`. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly code: ScheduleErrorCode;

  constructor(code: ScheduleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
