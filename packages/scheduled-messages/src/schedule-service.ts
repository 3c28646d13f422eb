import {
  assertLimit,
  type CancelResult,
  EnqueuePipeline,
  nameToken,
  type OutboxEntry,
  OutboxError,
  type OutboxStore,
  type TransactionalOutboxStore,
  topicMatcher,
} from '@postcommit/core';
import { findSchedules } from './find-schedules.js';
import { assertFitsSchema } from './payload-schema.js';
import { type CompletedRetention, purgeCompletedSchedules } from './purge-completed-schedules.js';
import { purgeDeadSchedules } from './purge-dead-schedules.js';
import { resolveScheduleRetry, type ScheduleRetry, type ScheduleRetryPolicy } from './schedule-retry.js';
import { toEntry } from './schedule-row.js';
import type { ScheduleSpec } from './schedule-spec.js';
import { type ScheduledMessage, type ScheduleStatus, STATE_OF_STATUS } from './scheduled-message.js';

export interface ScheduleServiceOptions {
  /** What a schedule does not say itself. Default: 5 attempts, exponential from 30 s. The same bounds hold. */
  readonly retry?: ScheduleRetry | undefined;
  /** Knows the schemas of topics. `ScheduledMessagesModule` hands in the application's. */
  readonly pipeline?: EnqueuePipeline | undefined;
}

/** Which schedules to look at; what is left out does not restrict. */
export interface ScheduleFilter {
  readonly status?: ScheduleStatus | undefined;
  /** A pattern, in which `*` stands for any characters. */
  readonly topic?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
}

const DEFAULT_LIMIT = 100;

/**
 * One-off messages at a time. A schedule is a row of the outbox that is due later, so it has the promises of one: it
 * exists if and only if its transaction committed, and it arrives at least once or ends `failed`.
 *
 * `Tx` is the transaction of the bound store: `const schedules: ScheduleService<PoolClient> = app.get(ScheduleService)`.
 */
export class ScheduleService<Tx = unknown> {
  static {
    nameToken(this, '@postcommit/scheduled-messages/ScheduleService');
  }

  readonly #store: OutboxStore;
  readonly #retry: ScheduleRetryPolicy;
  readonly #pipeline: EnqueuePipeline;

  constructor(store: OutboxStore | TransactionalOutboxStore<Tx>, options: ScheduleServiceOptions = {}) {
    this.#store = store;
    this.#retry = resolveScheduleRetry(options.retry);
    this.#pipeline = options.pipeline ?? new EnqueuePipeline();
  }

  /** Schedules on its own. Gives the id, which is the `scheduledJobId` of the events. */
  async scheduleAt(spec: ScheduleSpec): Promise<string> {
    return onlyId(await this.#store.enqueue(await this.#entry(spec)));
  }

  /** Schedules inside the caller's transaction: the schedule exists if and only if that commits. */
  async scheduleWith(tx: Tx, spec: ScheduleSpec): Promise<string> {
    const store = this.#transactionalStore();
    return onlyId(await store.enqueueWith(tx, await this.#entry(spec)));
  }

  /**
   * Cancels a schedule that is `scheduled` or `active`. A retry that waits never runs.
   *
   * - `'cancelled'`: no worker holds it, so no try begins any more.
   * - `'may-still-be-published'`: cancelled as well, but a worker holds it. Its listeners may be running, or start until
   *   the worker next extends its claims; then `event.signal` aborts. What they do changes the schedule no more.
   * - `false`: it had ended before, or there is no such schedule.
   */
  async cancel(id: string): Promise<CancelResult> {
    // The store would cancel any row: this is the way for schedules only.
    return (await this.get(id)) !== undefined && this.#store.cancel(id);
  }

  /** Undefined for an unknown id, one that was deleted after its time, and the id of a row that is no schedule. */
  async get(id: string): Promise<ScheduledMessage | undefined> {
    const [found] = await findSchedules(this.#store, { id }, { limit: 1, accepts: () => true });
    return found;
  }

  /**
   * `scheduled` and `active` ones in the order they fall due, ended ones with the latest first; without a status, by the
   * time they ended or fall due, latest first.
   */
  async list({
    status,
    topic = '*',
    limit = DEFAULT_LIMIT,
  }: ScheduleFilter = {}): Promise<ScheduledMessage[]> {
    assertLimit(limit);
    assertStatus(status);
    const hasTopic = topicMatcher(topic);
    return findSchedules(this.#store, status === undefined ? {} : { state: STATE_OF_STATUS[status] }, {
      limit,
      accepts: (message) => (status === undefined || message.status === status) && hasTopic(message.topic),
    });
  }

  /** Deletes `failed` and `cancelled` schedules that ended before; by default 30 days ago. Gives how many. */
  purge(endedBefore?: Date): Promise<number> {
    return purgeDeadSchedules(this.#store, endedBefore);
  }

  /** Deletes `completed` schedules; by default those older than 7 days, and all but the latest 1,000. Gives how many. */
  purgeCompleted(retention?: CompletedRetention): Promise<number> {
    return purgeCompletedSchedules(this.#store, retention);
  }

  async #entry(spec: ScheduleSpec): Promise<OutboxEntry> {
    if (typeof spec !== 'object' || spec === null)
      throw new OutboxError('INVALID_ENTRY', 'schedule: pass { topic, runAt, payload }');
    const entry = toEntry(spec, resolveScheduleRetry(spec.retry, this.#retry));
    await assertFitsSchema(this.#pipeline, spec);
    return entry;
  }

  #transactionalStore(): TransactionalOutboxStore<Tx> {
    if ('enqueueWith' in this.#store) return this.#store as TransactionalOutboxStore<Tx>;
    throw new OutboxError(
      'INVALID_TRANSACTION',
      'the bound store has no transactions, so scheduleWith has nothing to write in; use scheduleAt()',
    );
  }
}

function onlyId([id]: readonly string[]): string {
  if (id !== undefined) return id;
  throw new OutboxError('INVALID_ENTRY', 'an interceptor dropped the entry, so nothing was scheduled');
}

function assertStatus(status: ScheduleStatus | undefined): void {
  if (status === undefined || Object.hasOwn(STATE_OF_STATUS, status)) return;
  const known = Object.keys(STATE_OF_STATUS).join(', ');
  throw new OutboxError('INVALID_ARGUMENT', `status must be one of ${known}, got ${String(status)}`);
}
