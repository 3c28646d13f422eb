import type { ProcessedMessages } from '@postcommit/core';
import { rowIdOf } from '@postcommit/publisher-bullmq';
import { inTransaction } from '@postcommit/store-pg';
import { type Job, Worker } from 'bullmq';
import type pg from 'pg';

const NAME = 'points';

/** Credits the points of each order once, however often its job runs. */
export class PointsWorker {
  readonly #pool: pg.Pool;
  readonly #processed: ProcessedMessages<pg.PoolClient>;
  readonly #worker: Worker;
  #diesAfterCommit = true;

  constructor(
    queue: string,
    connection: { readonly url: string },
    pool: pg.Pool,
    processed: ProcessedMessages<pg.PoolClient>,
  ) {
    this.#pool = pool;
    this.#processed = processed;
    // A worker waits for its server for as long as it takes.
    const patient = { ...connection, maxRetriesPerRequest: null };
    this.#worker = new Worker(queue, (job) => this.#run(job), { connection: patient });
    this.#worker.on('error', (error) => console.log(`worker: ${error.message}`));
    this.#worker.on('failed', (job, error) => console.log(`job ${job?.id} failed: ${error.message}`));
  }

  /** Resolves after this many jobs are completed. */
  completed(jobs: number): Promise<void> {
    let left = jobs;
    return new Promise((resolve) => {
      this.#worker.on('completed', () => {
        left -= 1;
        if (left === 0) resolve();
      });
    });
  }

  /** Waits for the jobs that run. */
  close(): Promise<void> {
    return this.#worker.close();
  }

  /** The job is completed when this returns: after the commit. What fails runs again. */
  async #run(job: Job): Promise<void> {
    await this.#credit(job);
    if (!this.#diesAfterCommit) return;
    this.#diesAfterCommit = false;
    throw new Error('as if the worker had died between its commit and its answer');
  }

  async #credit({ id = '', data }: Job<{ customer: string; points: number }>): Promise<void> {
    const { customer, points } = data;
    await inTransaction(this.#pool, async (tx) => {
      const wasFirst = await this.#processed.processOnce(tx, NAME, rowIdOf(id), async () => {
        await tx.query('update points set total = total + $2 where customer = $1', [customer, points]);
      });
      console.log(`job ${id}: ${wasFirst ? 'credited' : 'known'}`);
    });
  }
}
