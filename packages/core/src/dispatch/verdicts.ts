import type { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { Random } from '../message/retry-policy.js';
import { condemned, undecodable } from './condemned.js';
import { outcomeOfError } from './decide.js';
import type { OutboxConfig } from './outbox-config.js';

/** Decides what becomes of a row that is not simply published. */
export class Verdicts {
  readonly #config: OutboxConfig;
  readonly #pipeline: EnqueuePipeline;
  readonly #random: Random;

  constructor(config: OutboxConfig, pipeline: EnqueuePipeline, random: Random) {
    this.#config = config;
    this.#pipeline = pipeline;
    this.#random = random;
  }

  /** The outcome of a row that must not be published. A promise only where a schema has to be asked. */
  beforePublish(row: OutboxRow): Outcome | undefined | Promise<Outcome | undefined> {
    const verdict = condemned(row, this.#config);
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
