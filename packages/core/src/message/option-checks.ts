import { OutboxError, type OutboxErrorCode } from './errors.js';

/** The longest possible timer. One with a longer delay fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a timer can wait this long. */
export function isTimerDelay(value: number, leastMs: number): boolean {
  return Number.isFinite(value) && value >= leastMs && value < 2 ** 31;
}

/** @throws `INVALID_CONFIG` for a delay that no timer can have. `name` begins with the place: `OutboxWorker: …`. */
export function assertTimerDelay(name: string, value: number): void {
  if (isTimerDelay(value, 1)) return;
  throw new OutboxError('INVALID_CONFIG', `${name} must be at least 1 and below 2^31, got ${String(value)}`);
}

/** @throws `INVALID_CONFIG` for anything but milliseconds from 1. `name` begins with the place: `OutboxConfig: …`. */
export function assertDuration(name: string, ms: number): void {
  if (Number.isFinite(ms) && ms >= 1) return;
  throw new OutboxError('INVALID_CONFIG', `${name} must be at least 1, got ${String(ms)}`);
}

interface WholeNumberCheck {
  /** @default no limit */
  readonly most?: number;
  /** @default 'INVALID_CONFIG' */
  readonly code?: OutboxErrorCode;
}

/** @throws `code` for anything but a whole number from 1. `name` begins with the place: `OutboxWorker: …`. */
export function assertWholeNumber(
  name: string,
  value: number,
  { most = Number.POSITIVE_INFINITY, code = 'INVALID_CONFIG' }: WholeNumberCheck = {},
): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new OutboxError(code, `${name} must be a whole number from 1, got ${String(value)}`);
}
