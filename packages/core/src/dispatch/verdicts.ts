import type { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { Random } from '../message/retry-policy.js';
import { outcomeOfError } from './decide.js';
import type { OutboxConfig } from './outbox-config.js';
import { undecodable, verdictBeforePublish } from './verdict-before-publish.js';

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
  beforePublish(row: OutboxRow): Outcome | undefined | Promise<Outcome | undefined> {
    const verdict = verdictBeforePublish(row, this.#config);
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
