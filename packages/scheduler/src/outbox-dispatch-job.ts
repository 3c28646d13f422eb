import {
  assertKnownOptions,
  type Clock,
  DispatchEvents,
  type OptionNames,
  OutboxDispatcher,
  OutboxStore,
  systemClock,
} from '@postcommit/core';
import type { JobContext, ScheduledJob } from './scheduled-job.js';

export interface OutboxDispatchJobOptions {
  /** Default every second: a cron expression with seconds. */
  readonly schedule?: string | undefined;
  /** Default 30 s. A tick begins no batch after this time, so that a full outbox is shared out over ticks. */
  readonly lockTtlMs?: number | undefined;
  /** Default UTC. */
  readonly timezone?: string | undefined;
  /** Rows claimed at once. Default: the dispatcher's `batchSize`. */
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
 * Drives the dispatcher: a tick publishes all that is due. A row that fails is left to the next tick, even where no
 * backoff is configured and it is due again at once: only the last batch of a tick may bring it a second time.
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

  /** Ends when nothing is due, when all that was due had its turn, after `lockTtlMs`, or after the signal. */
  async execute({ signal }: Partial<JobContext> = {}): Promise<void> {
    const endMs = this.#clock.monotonicMs() + this.lockTtlMs;
    const failed = new FailedRows(this.#events);
    try {
      do {
        // A batch that is not full does not mean that the outbox is empty: a retaken row comes alone.
        const { fetched } = await this.#dispatcher.dispatchPending(this.#limit);
        if (fetched === 0 || (await this.#hasComeRound(failed))) return;
      } while (!signal?.aborted && this.#clock.monotonicMs() < endMs);
    } finally {
      failed.stopWatching();
    }
  }

  /**
   * A failed row goes to the back of the line. When one is at the front again, everything else had its turn. Where the
   * front is a row that can't be claimed, held back by its key for one, it shows by a row that fails twice.
   */
  async #hasComeRound(failed: FailedRows): Promise<boolean> {
    if (failed.isEmpty || failed.hasRepeated) return failed.hasRepeated;
    const [front] = await this.#store.peek({ state: 'pending' }, 1);
    return front !== undefined && failed.has(front.id);
  }
}

/** The rows whose publish failed since it was made. */
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
