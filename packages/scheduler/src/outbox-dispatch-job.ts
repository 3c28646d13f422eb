import { type Clock, DispatchEvents, OutboxDispatcher, OutboxStore } from '@postcommit/core';
import { assertKnownOptions, type OptionNames, systemClock } from '@postcommit/core/internal';
import type { JobContext, ScheduledJob } from './scheduled-job.js';

export interface OutboxDispatchJobOptions {
  /**
   * A cron expression of five fields, or of six with seconds first.
   *
   * @default every second
   */
  readonly schedule?: string | undefined;
  /**
   * See `ScheduledJob`. A tick starts no new batch after this time; the next tick continues.
   *
   * @default 30_000
   */
  readonly lockTtlMs?: number | undefined;
  /**
   * The IANA name of the schedule's time zone.
   *
   * @default 'UTC'
   */
  readonly timezone?: string | undefined;
  /**
   * Rows claimed at once.
   *
   * @default the dispatcher's `batchSize`
   */
  readonly limit?: number | undefined;
  /** For tests. */
  readonly clock?: Clock;
}

export const DISPATCH_JOB_NAMES: OptionNames<OutboxDispatchJobOptions> = {
  schedule: true,
  lockTtlMs: true,
  timezone: true,
  limit: true,
  clock: true,
};

export const DISPATCH_JOB_DEFAULTS = {
  name: 'outbox-dispatch',
  schedule: '*/1 * * * * *',
  lockTtlMs: 30_000,
} as const;

/**
 * Drives the dispatcher: a tick publishes everything that is due. A failed row is left to the next tick, even without a
 * backoff; only the last batch of a tick may contain it a second time.
 */
export class OutboxDispatchJob implements ScheduledJob {
  static readonly inject = [OutboxDispatcher, OutboxStore, DispatchEvents] as const;

  readonly name = DISPATCH_JOB_DEFAULTS.name;
  readonly schedule: string;
  readonly lockTtlMs: number;
  readonly timezone: string | undefined;
  readonly #dispatcher: OutboxDispatcher;
  readonly #store: OutboxStore;
  readonly #events: DispatchEvents;
  readonly #limit: number | undefined;
  readonly #clock: Clock;

  constructor(
    dispatcher: OutboxDispatcher,
    store: OutboxStore,
    events: DispatchEvents,
    options: OutboxDispatchJobOptions = {},
  ) {
    assertKnownOptions('OutboxDispatchJob', options, DISPATCH_JOB_NAMES);
    this.#dispatcher = dispatcher;
    this.#store = store;
    this.#events = events;
    this.schedule = options.schedule ?? DISPATCH_JOB_DEFAULTS.schedule;
    this.lockTtlMs = options.lockTtlMs ?? DISPATCH_JOB_DEFAULTS.lockTtlMs;
    this.timezone = options.timezone;
    this.#limit = options.limit;
    this.#clock = options.clock ?? systemClock;
  }

  /** Ends when nothing is due, when every due row has been tried, after `lockTtlMs`, or when `signal` aborts. */
  async execute({ signal }: Partial<JobContext> = {}): Promise<void> {
    const endMs = this.#clock.monotonicMs() + this.lockTtlMs;
    const failed = new FailedRows(this.#events);
    try {
      do {
        // A partial batch does not mean that the outbox is empty: a retaken row is claimed alone.
        const { fetched } = await this.#dispatcher.dispatchPending(this.#limit);
        if (fetched === 0 || (await this.#hasTriedAll(failed))) return;
      } while (!signal?.aborted && this.#clock.monotonicMs() < endMs);
    } finally {
      failed.stopWatching();
    }
  }

  /**
   * A failed row goes to the back of the queue. When one is at the front again, every other row has been tried. If the
   * front row can't be claimed, for example because it waits for its key, a row that fails a second time shows it.
   */
  async #hasTriedAll(failed: FailedRows): Promise<boolean> {
    if (failed.isEmpty || failed.hasRepeated) return failed.hasRepeated;
    const [front] = await this.#store.peek({ state: 'pending' }, 1);
    return front !== undefined && failed.has(front.id);
  }
}

/** The rows that failed to publish since its creation. */
class FailedRows {
  readonly #ids = new Set<string>();
  readonly stopWatching: () => void;
  #hasRepeated = false;

  constructor(events: DispatchEvents) {
    this.stopWatching = events.on('failed', ({ row }) => {
      this.#hasRepeated ||= this.#ids.has(row.id);
      this.#ids.add(row.id);
    });
  }

  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  /** Whether one of them failed twice. */
  get hasRepeated(): boolean {
    return this.#hasRepeated;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
