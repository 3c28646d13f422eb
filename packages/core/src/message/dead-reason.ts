/** Why a row is dead. */
export type DeadReason =
  | 'exhausted'
  | 'permanent'
  | 'crashed'
  | 'expired'
  | 'no-listener'
  | 'undecodable'
  | 'cancelled';

const DEAD_REASONS: ReadonlySet<unknown> = new Set<DeadReason>([
  'exhausted',
  'permanent',
  'crashed',
  'expired',
  'no-listener',
  'undecodable',
  'cancelled',
]);

export function isDeadReason(value: unknown): value is DeadReason {
  return DEAD_REASONS.has(value);
}
