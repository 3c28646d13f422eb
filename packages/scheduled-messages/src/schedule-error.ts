/** Stable: switch on it, not on messages. */
export type ScheduleErrorCode = 'SCHEDULE_RETRY_POLICY_INVALID';

/** A schedule that was refused for what only schedules forbid; nothing was stored. Else an `OutboxError` is thrown. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly code: ScheduleErrorCode;

  constructor(code: ScheduleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
