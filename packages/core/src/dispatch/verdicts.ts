import type { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import { missingStrategy } from '../message/backoff-strategies.js';
import { errorText } from '../message/error-text.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { Random } from '../message/retry-policy.js';
import { outcomeOfError } from './decide.js';
import type { OutboxConfig } from './outbox-config.js';

/** Decides the outcome of rows that must not be published or whose publish failed. */
export class Verdicts {
  readonly #config: OutboxConfig;
  readonly #pipeline: EnqueuePipeline;
  readonly #random: Random;

  constructor(config: OutboxConfig, pipeline: EnqueuePipeline, random: Random) {
    this.#config = config;
    this.#pipeline = pipeline;
    this.#random = random;
  }

  /**
   * The outcome of a row that must not be published; undefined if it may be. A promise only for topics with a schema.
   */
  beforePublish(
    row: OutboxRow,
    claimedAtMs: number | undefined,
  ): Outcome | undefined | Promise<Outcome | undefined> {
    const verdict = storedVerdict(row, claimedAtMs, this.#config);
    return verdict ?? (this.#pipeline.hasSchema(row.topic) ? this.#schemaMismatch(row) : undefined);
  }

  ofFailure(error: unknown, row: OutboxRow): Outcome {
    return outcomeOfError(error, row, this.#config, this.#random);
  }

  async #schemaMismatch(row: OutboxRow): Promise<Outcome | undefined> {
    try {
      const problem = await this.#pipeline.schemaProblem(row.topic, row.payload);
      return problem === undefined ? undefined : undecodable(row, `payload: ${problem}`);
    } catch (error) {
      return this.ofFailure(error, row);
    }
  }
}

/** The outcome of a row that must not be published because of what is stored; undefined if it may be. */
function storedVerdict(
  row: OutboxRow,
  claimedAtMs: number | undefined,
  config: OutboxConfig,
): Outcome | undefined {
  if (row.undecodable !== undefined) return undecodable(row, row.undecodable);
  // Without its strategy we could not schedule a retry, so don't publish at all.
  const missing = row.retry.backoff && missingStrategy(row.retry.backoff, config.backoffStrategies);
  if (missing !== undefined) {
    const cure = 'add it to backoffStrategies where rows are dispatched, then retry the row';
    return undecodable(row, `${missing} in this process; ${cure}`);
  }
  if (row.retakes >= config.maxRetakes) {
    const error = `its claim expired ${row.retakes} times in a row; it may be crashing the process that publishes it`;
    return { id: row.id, kind: 'dead', untried: true, reason: 'crashed', error };
  }
  const { maxAgeMs } = config;
  const ageMs = claimedAtMs === undefined ? 0 : claimedAtMs - row.createdAt.getTime();
  if (maxAgeMs !== undefined && ageMs > maxAgeMs) return expired(row, ageMs, maxAgeMs);
  const maxAttempts = row.retry.maxAttempts ?? config.maxAttempts;
  if (row.attempts < maxAttempts) return undefined;
  // The limit was lowered or the row was edited: no tries are left.
  const error = row.lastError ?? `attempts (${row.attempts}) had reached the limit of ${maxAttempts}`;
  return { id: row.id, kind: 'dead', untried: true, reason: 'exhausted', error };
}

function expired({ id, lastError }: OutboxRow, ageMs: number, maxAgeMs: number): Outcome {
  const problem = `it was ${Math.round(ageMs)} ms old when it was claimed, and maxAgeMs is ${maxAgeMs}`;
  const error = lastError === undefined ? problem : errorText(`${problem}; its last error: ${lastError}`);
  return { id, kind: 'dead', untried: true, reason: 'expired', error };
}

function undecodable({ id }: OutboxRow, error: string): Outcome {
  return { id, kind: 'dead', untried: true, reason: 'undecodable', error };
}
