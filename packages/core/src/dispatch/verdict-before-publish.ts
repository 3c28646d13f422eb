import { missingStrategy } from '../message/backoff-strategies.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { OutboxConfig } from './outbox-config.js';

/** Returns the outcome of a row that must not be published; undefined if it may be. */
export function verdictBeforePublish(row: OutboxRow, config: OutboxConfig): Outcome | undefined {
  if (row.undecodable !== undefined) return undecodable(row, row.undecodable);
  // Without its strategy we could not schedule a retry, so don't publish at all.
  const missing = missingStrategy(row.retry.backoff, config.backoffStrategies);
  if (missing !== undefined) {
    const cure = 'add it to backoffStrategies where rows are dispatched, then retry the row';
    return undecodable(row, `${missing} in this process; ${cure}`);
  }
  if (row.retakes >= config.maxRetakes) {
    const error = `its claim expired ${row.retakes} times in a row; it may be crashing the process that publishes it`;
    return { id: row.id, kind: 'dead', untried: true, reason: 'crashed', error };
  }
  const maxAttempts = row.retry.maxAttempts ?? config.maxAttempts;
  if (row.attempts < maxAttempts) return undefined;
  // The limit was lowered or the row was edited: no tries are left.
  const error = row.lastError ?? `attempts (${row.attempts}) had reached the limit of ${maxAttempts}`;
  return { id: row.id, kind: 'dead', untried: true, reason: 'exhausted', error };
}

export function undecodable({ id }: OutboxRow, error: string): Outcome {
  return { id, kind: 'dead', untried: true, reason: 'undecodable', error };
}
