import { HeldKeys } from '../message/held-keys.js';
import { blocksKey, type Outcome } from '../message/outcome.js';
import type { PublishContext } from '../message/publish-context.js';
import type { PublishLayer, PublishStep } from '../observe/interceptors.js';
import { type PublishGroup, publishGroupThrough, publishThrough } from '../publish/intercepted-publish.js';
import type { OutboxPublisher, PublishResult } from '../publish/outbox-publisher.js';
import { finalPublisher } from '../publish/publisher-routes.js';
import { BatchQueue } from './batch-queue.js';
import { type PublishBounds, publishBounded } from './publish-bounded.js';
import type { RowInFlight } from './row-in-flight.js';
import type { Verdicts } from './verdicts.js';

type Group = [RowInFlight, ...RowInFlight[]];

export interface BatchPublishingOptions {
  readonly publisher: OutboxPublisher;
  /** The publish interceptors, outermost first. */
  readonly layers: readonly PublishLayer[];
  readonly verdicts: Verdicts;
  readonly bounds: PublishBounds;
  readonly concurrency: number;
}

/** Publishes the rows of a batch and decides the outcome of each. Writes nothing to the store. */
export class BatchPublishing {
  readonly #rows: readonly RowInFlight[];
  readonly #options: BatchPublishingOptions;
  readonly #queue: BatchQueue;
  readonly #publish: PublishStep;
  readonly #publishTogether: PublishGroup;
  #isClosed = false;

  constructor(rows: readonly RowInFlight[], options: BatchPublishingOptions) {
    this.#rows = rows;
    this.#options = options;
    this.#queue = new BatchQueue(rows);
    this.#publish = publishThrough(options.layers, options.publisher);
    this.#publishTogether = publishGroupThrough(options.layers);
  }

  /** Publishes in up to `concurrency` parallel lanes. Rows that no lane could start are released. */
  async run(): Promise<void> {
    const lanes = Math.min(this.#options.concurrency, this.#rows.length);
    await Promise.all(Array.from({ length: lanes }, () => this.#runLane()));
    for (const flight of this.#queue.clear('ended')) this.#end(flight, released(flight));
  }

  /** Starts no more rows. Returns those that have not started; the caller releases them. */
  close(): RowInFlight[] {
    this.#isClosed = true;
    return this.#queue.clear('returning');
  }

  /** Publishes one row or group after another while it has a slot and rows are waiting. */
  async #runLane(): Promise<void> {
    const { slots } = this.#options.bounds;
    if (!(await slots.acquire())) return;
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      const publisher = this.#publisherOf(next);
      const keepsSlot = publisher.publishBatch
        ? await this.#publishGroup(publisher, next)
        : await this.#publishOne(next);
      // A publisher that is still running keeps our slot, so this lane needs another one to continue.
      if (keepsSlot && (this.#queue.isEmpty || !(await slots.acquire()))) return;
    }
    slots.release({ overdue: false });
  }

  /** A route whose `matches` throws is left to `publish`, where it throws again and fails only this row. */
  #publisherOf({ row }: RowInFlight): OutboxPublisher {
    const { publisher } = this.#options;
    try {
      return finalPublisher(publisher, row);
    } catch {
      return publisher;
    }
  }

  /** Returns true if the publisher is still running and keeps the slot. */
  async #publishOne(flight: RowInFlight): Promise<boolean> {
    const before = this.#verdictBefore(flight);
    // Awaiting a plain value would cost every row a trip through the microtask queue.
    const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
    const unpublished = verdict ?? (this.#mayStart(flight) ? undefined : released(flight));
    if (unpublished) {
      this.#end(flight, unpublished);
      return false;
    }
    // A copy: a publisher that changes its row must not change what is settled.
    const copy = { ...flight.row };
    const publish = (context: PublishContext) => this.#publish(copy, context);
    const end = await publishBounded([flight], publish, this.#options.bounds);
    this.#end(flight, end.published ? dispatched(flight) : this.#failure(end.error, flight));
    return end.keepsSlot;
  }

  /** Publishes `first` and all rows that can share its call. Returns true if the publisher keeps the slot. */
  async #publishGroup(publisher: OutboxPublisher, first: RowInFlight): Promise<boolean> {
    const group = await this.#publishable(
      this.#queue.takeGroup(first, (next) => this.#publisherOf(next) === publisher),
    );
    if (!isGroup(group)) return false;
    const copies = group.map(({ row }) => ({ ...row }));
    const publish = (context: PublishContext) => this.#publishTogether(publisher, copies, context);
    const end = await publishBounded(group, publish, this.#options.bounds);
    // Rows behind a failed row of their key are released, even if they were sent: they are sent again after it.
    const held = new HeldKeys();
    for (const [index, flight] of group.entries()) {
      const result = end.published ? end.value[index] : { status: 'rejected' as const, reason: end.error };
      const outcome = held.has(flight) ? released(flight) : this.#outcomeOf(result, flight);
      if (blocksKey(outcome)) held.hold(flight);
      this.#end(flight, outcome);
    }
    return end.keepsSlot;
  }

  /** Ends the rows that must not be published and returns the others. */
  async #publishable(rows: readonly RowInFlight[]): Promise<RowInFlight[]> {
    const undecided: RowInFlight[] = [];
    for (const flight of rows) {
      const before = this.#verdictBefore(flight);
      const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
      if (verdict) this.#end(flight, verdict);
      else undecided.push(flight);
    }
    // Checked last, and for all rows at once: claims can be lost while schemas validate.
    const held = new HeldKeys();
    return undecided.filter((flight) => {
      if (this.#mayStart(flight) && !held.has(flight)) return true;
      held.hold(flight);
      this.#end(flight, released(flight));
      return false;
    });
  }

  #outcomeOf(result: PublishResult | undefined, flight: RowInFlight): Outcome {
    return result?.status === 'fulfilled' ? dispatched(flight) : this.#failure(result?.reason, flight);
  }

  #verdictBefore(flight: RowInFlight): Outcome | undefined | Promise<Outcome | undefined> {
    if (this.#queue.isHeldBack(flight)) return released(flight);
    return this.#options.verdicts.beforePublish(flight.row);
  }

  #mayStart(flight: RowInFlight): boolean {
    return !this.#isClosed && this.#options.bounds.lease.holds(flight);
  }

  #failure(error: unknown, flight: RowInFlight): Outcome {
    return this.#options.verdicts.ofFailure(error, flight.row);
  }

  #end(flight: RowInFlight, outcome: Outcome): void {
    this.#queue.ended(flight, outcome);
    if (flight.phase === 'abandoned') return;
    flight.phase = 'ended';
    flight.outcome = outcome;
  }
}

function dispatched({ id }: RowInFlight): Outcome {
  return { id, kind: 'dispatched' };
}

function released({ id }: RowInFlight): Outcome {
  return { id, kind: 'released' };
}

function isGroup(rows: readonly RowInFlight[]): rows is Group {
  return rows.length > 0;
}
