import { HeldKeys } from '../message/held-keys.js';
import { comesFirstAgain, type Outcome } from '../message/outcome.js';
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
  /** What stands around each publish. */
  readonly layers: readonly PublishLayer[];
  readonly verdicts: Verdicts;
  readonly bounds: PublishBounds;
  readonly concurrency: number;
}

/** Brings every row of a batch to an outcome. Records nothing. */
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

  /** Publishes in as many lanes as may publish at once. What none of them could start is released. */
  async run(): Promise<void> {
    const lanes = Math.min(this.#options.concurrency, this.#rows.length);
    await Promise.all(Array.from({ length: lanes }, () => this.#runLane()));
    for (const flight of this.#queue.clear('ended')) this.#end(flight, released(flight));
  }

  /** Lets nothing more start. Returns the rows that had not started, for the caller to release. */
  close(): RowInFlight[] {
    this.#isClosed = true;
    return this.#queue.clear('returning');
  }

  /** Publishes one row or group after another, as long as it has a slot and rows may start. */
  async #runLane(): Promise<void> {
    const { slots } = this.#options.bounds;
    if (!(await slots.acquire())) return;
    for (let next = this.#queue.take(); next; next = this.#queue.take()) {
      const publisher = this.#publisherOf(next);
      const keepsSlot = publisher.publishBatch
        ? await this.#publishGroup(publisher, next)
        : await this.#publishOne(next);
      // A publisher that does not end keeps our slot; we go on with another one, if there is work and one comes free.
      if (keepsSlot && (this.#queue.isEmpty || !(await slots.acquire()))) return;
    }
    slots.release({ overdue: false });
  }

  /** A route that throws when asked fails its row when that is published, and no other. */
  #publisherOf({ row }: RowInFlight): OutboxPublisher {
    const { publisher } = this.#options;
    try {
      return finalPublisher(publisher, row);
    } catch {
      return publisher;
    }
  }

  /** Returns whether the publisher is still running, and so keeps the slot. */
  async #publishOne(flight: RowInFlight): Promise<boolean> {
    const before = this.#verdictBefore(flight);
    // Awaiting what is not a promise would cost every row a turn of the event loop's queue.
    const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
    const unpublished = verdict ?? (this.#mayStart(flight) ? undefined : released(flight));
    if (unpublished) {
      this.#end(flight, unpublished);
      return false;
    }
    // A copy: whatever a publisher does to its row, it is settled as the row it was.
    const copy = { ...flight.row };
    const publish = (context: PublishContext) => this.#publish(copy, context);
    const end = await publishBounded([flight], publish, this.#options.bounds);
    this.#end(flight, end.published ? dispatched(flight) : this.#failure(end.error, flight));
    return end.keepsSlot;
  }

  /** The same for all rows that can go out with this one. */
  async #publishGroup(publisher: OutboxPublisher, first: RowInFlight): Promise<boolean> {
    const group = await this.#fitToPublish(
      this.#queue.takeWith(first, (next) => this.#publisherOf(next) === publisher),
    );
    if (!isGroup(group)) return false;
    const copies = group.map(({ row }) => ({ ...row }));
    const publish = (context: PublishContext) => this.#publishTogether(publisher, copies, context);
    const end = await publishBounded(group, publish, this.#options.bounds);
    // Only the unbroken beginning of a key counts: what was sent past a failed row is sent again after it.
    const held = new HeldKeys();
    for (const [index, flight] of group.entries()) {
      const result = end.published ? end.value[index] : { status: 'rejected' as const, reason: end.error };
      const outcome = held.has(flight) ? released(flight) : this.#outcomeOf(result, flight);
      if (comesFirstAgain(outcome)) held.hold(flight);
      this.#end(flight, outcome);
    }
    return end.keepsSlot;
  }

  /** Ends the rows of a group that must not be published, and returns the others. */
  async #fitToPublish(rows: readonly RowInFlight[]): Promise<RowInFlight[]> {
    const undecided: RowInFlight[] = [];
    for (const flight of rows) {
      const before = this.#verdictBefore(flight);
      const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
      if (verdict) this.#end(flight, verdict);
      else undecided.push(flight);
    }
    // Checked for all at once, and last: claims can be lost while schemas are asked.
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
