import {
  type CancelResult,
  EnqueuePipeline,
  type OutboxEntry,
  OutboxError,
  type OutboxStore,
  type TransactionalOutboxStore,
} from '@postcommit/core';
import {
  assertKnownOptions,
  assertLimit,
  nameToken,
  type OptionNames,
  topicMatcher,
} from '@postcommit/core/internal';
import { findSchedules } from './find-schedules.js';
import { assertFitsSchema } from './payload-schema.js';
import { type CompletedRetention, purgeCompletedSchedules } from './purge-completed-schedules.js';
import { purgeDeadSchedules } from './purge-dead-schedules.js';
import { resolveScheduleRetry, type ScheduleRetry, type ScheduleRetryPolicy } from './schedule-retry.js';
import { toEntry } from './schedule-row.js';
import type { ScheduleSpec } from './schedule-spec.js';
import { type ScheduledMessage, type ScheduleStatus, STATE_OF_STATUS } from './scheduled-message.js';

export interface ScheduleServiceOptions {
  /**
   * The retry policy of schedules that have none. The same bounds apply.
   *
   * @default 5 attempts, exponential from 30 s
   */
  readonly retry?: ScheduleRetry | undefined;
  /** Validates payloads against `topics`. `ScheduledMessagesModule` passes the application's pipeline. */
  readonly pipeline?: EnqueuePipeline | undefined;
}

/** Selects schedules; an omitted field matches all. */
export interface ScheduleFilter {
  readonly status?: ScheduleStatus | undefined;
  /** A pattern in which `*` matches any characters. */
  readonly topic?: string | undefined;
  /** @default 100 */
  readonly limit?: number | undefined;
}

const OPTION_NAMES: OptionNames<ScheduleServiceOptions> = { retry: true, pipeline: true };
const FILTER_NAMES: OptionNames<ScheduleFilter> = { status: true, topic: true, limit: true };
const SPEC_NAMES: OptionNames<ScheduleSpec> = {
  topic: true,
  payload: true,
  id: true,
  runAt: true,
  timezone: true,
  retry: true,
  metadata: true,
};

const DEFAULT_LIMIT = 100;

/**
 * Schedules one-off messages for a later time. A schedule is an outbox row that is due later, with the same promises: it
 * exists if and only if its transaction committed, and it arrives at least once or ends `failed`.
 *
 * `Tx` is the transaction type of the bound store.
 *
 * @example
 * const schedules: ScheduleService<PoolClient> = app.get(ScheduleService);
 * await schedules.scheduleWith(client, { topic: 'payments.charge-reminder', runAt, payload });
 */
export class ScheduleService<Tx = unknown> {
  static {
    nameToken(this, '@postcommit/scheduled-messages/ScheduleService');
  }

  readonly #store: OutboxStore;
  readonly #retry: ScheduleRetryPolicy;
  readonly #pipeline: EnqueuePipeline;

  constructor(store: OutboxStore | TransactionalOutboxStore<Tx>, options: ScheduleServiceOptions = {}) {
    assertKnownOptions('ScheduleService', options, OPTION_NAMES);
    this.#store = store;
    this.#retry = resolveScheduleRetry(options.retry);
    this.#pipeline = options.pipeline ?? new EnqueuePipeline();
  }

  /**
   * Schedules a message outside any transaction. Returns its id, the `scheduledJobId` of the events.
   *
   * @throws OutboxError `INVALID_ENTRY`, `SCHEMA_MISMATCH` or `DUPLICATE_ID`; nothing is stored.
   * @throws ScheduleError `SCHEDULE_RETRY_POLICY_INVALID`; nothing is stored.
   */
  async scheduleAt(spec: ScheduleSpec): Promise<string> {
    return onlyId(await this.#store.enqueue(await this.#entry(spec)));
  }

  /**
   * Schedules a message in the caller's transaction: it exists if and only if that commits. Returns its id.
   *
   * @throws OutboxError `INVALID_TRANSACTION` if the store has no transactions; otherwise as `scheduleAt`.
   */
  async scheduleWith(tx: Tx, spec: ScheduleSpec): Promise<string> {
    const store = this.#transactionalStore();
    return onlyId(await store.enqueueWith(tx, await this.#entry(spec)));
  }

  /**
   * Cancels a schedule that is `scheduled` or `active`. A waiting retry never runs.
   *
   * - `'cancelled'`: no worker holds it, so no further attempt starts.
   * - `'may-still-be-published'`: cancelled as well, but a worker holds it. Its listeners may be running, or start until
   *   the worker next extends its claims; then `event.signal` aborts. Their result no longer changes the schedule.
   * - `false`: it has already ended, or there is no such schedule.
   */
  async cancel(id: string): Promise<CancelResult> {
    // The store would cancel any row; this method is only for schedules.
    return (await this.get(id)) !== undefined && this.#store.cancel(id);
  }

  /** Returns a schedule, or undefined if the id is unknown, already purged, or not that of a schedule. */
  async get(id: string): Promise<ScheduledMessage | undefined> {
    const [found] = await findSchedules(this.#store, { id }, { limit: 1, accepts: () => true });
    return found;
  }

  /**
   * Lists schedules. `scheduled` and `active` ones come in the order they are due, ended ones latest first. Without a
   * status, all come by the time they ended or are due, latest first.
   */
  async list(filter: ScheduleFilter = {}): Promise<ScheduledMessage[]> {
    assertKnownOptions('list', filter, FILTER_NAMES, 'INVALID_ARGUMENT');
    const { status, topic = '*', limit = DEFAULT_LIMIT } = filter;
    assertLimit(limit);
    assertStatus(status);
    const hasTopic = topicMatcher(topic);
    return findSchedules(this.#store, status === undefined ? {} : { state: STATE_OF_STATUS[status] }, {
      limit,
      accepts: (message) => (status === undefined || message.status === status) && hasTopic(message.topic),
    });
  }

  /** Deletes `failed` and `cancelled` schedules that ended before then, by default 30 days ago. Returns the count. */
  purge(endedBefore?: Date): Promise<number> {
    return purgeDeadSchedules(this.#store, endedBefore);
  }

  /** Deletes `completed` schedules, by default those older than 7 days or beyond the latest 1,000. Returns the count. */
  purgeCompleted(retention?: CompletedRetention): Promise<number> {
    return purgeCompletedSchedules(this.#store, retention);
  }

  async #entry(spec: ScheduleSpec): Promise<OutboxEntry> {
    if (typeof spec !== 'object' || spec === null)
      throw new OutboxError('INVALID_ENTRY', 'schedule: pass { topic, runAt, payload }');
    assertKnownOptions('schedule', spec, SPEC_NAMES, 'INVALID_ENTRY');
    const entry = toEntry(spec, resolveScheduleRetry(spec.retry, this.#retry));
    await assertFitsSchema(this.#pipeline, spec);
    return entry;
  }

  #transactionalStore(): TransactionalOutboxStore<Tx> {
    if ('enqueueWith' in this.#store) return this.#store as TransactionalOutboxStore<Tx>;
    throw new OutboxError(
      'INVALID_TRANSACTION',
      'the bound store has no transactions, so scheduleWith is not available; use scheduleAt()',
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
