import { missingStrategy } from '../message/backoff-strategies.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { OutboxConfig } from './outbox-config.js';

/** The verdict on a row that must not be published any more; undefined for the others. */
export function condemned(row: OutboxRow, config: OutboxConfig): Outcome | undefined {
  if (row.undecodable !== undefined) return undecodable(row, row.undecodable);
  // Without its strategy a failure could only be retried blindly: better not to begin.
  const missing = missingStrategy(row.retry.backoff, config.backoffStrategies);
  if (missing !== undefined) {
    const cure = 'add it to backoffStrategies where rows are dispatched, then retry the row';
    return undecodable(row, `${missing} in this process; ${cure}`);
  }
  if (row.retakes >= config.maxRetakes) {
    const error = `its claim expired ${row.retakes} times in a row: the process may have died of it each time`;
    return { id: row.id, kind: 'dead', untried: true, reason: 'crashed', error };
  }
  const maxAttempts = row.retry.maxAttempts ?? config.maxAttempts;
  if (row.attempts < maxAttempts) return undefined;
  // The limit was lowered, or the row was edited: one more try would be one too many.
  const error = row.lastError ?? `attempts (${row.attempts}) had reached the limit of ${maxAttempts}`;
  return { id: row.id, kind: 'dead', untried: true, reason: 'exhausted', error };
}

export function undecodable({ id }: OutboxRow, error: string): Outcome {
  return { id, kind: 'dead', untried: true, reason: 'undecodable', error };
}
