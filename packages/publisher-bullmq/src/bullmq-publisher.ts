import {
  OutboxPublisher,
  type OutboxRow,
  type PublishBatchContext,
  type PublishContext,
  type PublisherHealth,
  type PublisherProblem,
  type PublishResult,
  publishInWaves,
  type StopOptions,
  UnavailableError,
} from '@postcommit/core';
import { DEFAULT_GRACE_MS, endsWithin, systemClock } from '@postcommit/core/internal';
import {
  type AnyBullmqOptions,
  assertBullmqOptions,
  type BullmqPublisherOptions,
  type BullmqServerOptions,
} from './bullmq-options.js';
import { GiveUp } from './give-up.js';
import { type RowJob, toJob } from './job-of-row.js';
import { addError, connectError, isOutdated } from './redis-errors.js';
import { serverProblems } from './server-check.js';
import type { Session } from './session.js';
import { BorrowedSessions, OwnSessions, type Sessions } from './sessions.js';

/** The most jobs that are added at once. */
const WAVE_ROWS = 500;
const DELIVERED: PublishResult = { status: 'fulfilled' };
const NO_RESULT = rejected(new TypeError('the job was not added'));

/**
 * Adds rows as jobs to a queue of BullMQ: a row is delivered when Redis has answered with the id of its job.
 *
 * @throws `INVALID_CONFIG` for a wrong option.
 * @example
 * bullmqPublisher({ connection: { host: 'localhost' }, name: 'orders' })
 */
export function bullmqPublisher(options: BullmqPublisherOptions): OutboxPublisher {
  assertBullmqOptions(options);
  return new BullmqPublisher(options);
}

class BullmqPublisher extends OutboxPublisher {
  override readonly name = 'bullmq';
  readonly #options: AnyBullmqOptions;
  readonly #sessions: Sessions;
  readonly #inFlight = new Set<Promise<unknown>>();
  #stopped = new AbortController();

  constructor(options: AnyBullmqOptions) {
    super();
    this.#options = options;
    this.#sessions = options.queue
      ? new BorrowedSessions(options.queue, options)
      : new OwnSessions(options as AnyBullmqOptions & BullmqServerOptions);
  }

  override async start(): Promise<void> {
    if (this.#stopped.signal.aborted) this.#stopped = new AbortController();
    await this.#session();
  }

  async publish(row: OutboxRow, { signal }: PublishContext): Promise<void> {
    const [result] = await this.#tracked(this.#send([row], signal));
    if (result?.status !== 'fulfilled') throw result?.reason;
  }

  override async publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    return this.#tracked(this.#send(rows, signal));
  }

  override async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions): Promise<void> {
    const inFlight = Promise.allSettled([...this.#inFlight]);
    await endsWithin(graceMs, inFlight, systemClock);
    this.#stopped.abort(new UnavailableError('the publisher was stopped'));
    await this.#sessions.close();
  }

  override async check(): Promise<readonly PublisherProblem[]> {
    const session = await this.#session();
    try {
      return await serverProblems(session, this.#options.queue !== undefined);
    } catch (error) {
      throw connectError(error);
    }
  }

  override health(): PublisherHealth {
    return { isConnected: this.#sessions.isConnected };
  }

  async #send(rows: readonly OutboxRow[], caller: AbortSignal): Promise<readonly PublishResult[]> {
    const giveUp = new GiveUp(AbortSignal.any([caller, this.#stopped.signal]));
    const { signal } = giveUp;
    try {
      return await publishInWaves(rows, (wave) => this.#sendWave(wave, giveUp), {
        signal,
        maxRows: WAVE_ROWS,
      });
    } finally {
      giveUp.end();
    }
  }

  /** A row that BullMQ can't take is refused before anything is added. */
  async #sendWave(rows: readonly OutboxRow[], giveUp: GiveUp): Promise<readonly PublishResult[]> {
    const made = await Promise.allSettled(rows.map((row) => toJob(row, this.#options)));
    const jobs = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const results = (jobs.length === 0 ? [] : await this.#addAll(jobs, giveUp)).values();
    return made.map((one) => (one.status === 'rejected' ? one : (results.next().value ?? NO_RESULT)));
  }

  /** Not `addBulk`: it has one error for all of them. The calls go out in one pipeline all the same. */
  async #addAll(jobs: readonly RowJob[], giveUp: GiveUp): Promise<readonly PublishResult[]> {
    let session: Session;
    try {
      session = await giveUp.orResult(() => this.#session());
    } catch (reason) {
      return jobs.map(() => rejected(reason));
    }
    const { signal } = giveUp;
    const calls = jobs.map(
      ({ name, data, options }) =>
        () =>
          session.queue.add(name, data, options),
    );
    const added = await session.all(calls, signal);
    if (added.some((one) => one.status === 'rejected' && isOutdated(one.reason)))
      this.#sessions.outdated(session);
    return added.map((one, index) => {
      if (one.status === 'fulfilled') return DELIVERED;
      // The engine's own reason for giving up stays as it is.
      if (signal.aborted && one.reason === signal.reason) return one;
      return rejected(addError(one.reason, jobs[index]?.rowId ?? '', session.isReady));
    });
  }

  async #session(): Promise<Session> {
    if (this.#stopped.signal.aborted) throw this.#stopped.signal.reason;
    return this.#sessions.get();
  }

  async #tracked<T>(sending: Promise<T>): Promise<T> {
    this.#inFlight.add(sending);
    try {
      return await sending;
    } finally {
      this.#inFlight.delete(sending);
    }
  }
}

function rejected(reason: unknown): PublishResult {
  return { status: 'rejected', reason };
}
