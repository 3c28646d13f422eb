import { HeldKeys } from '../message/held-keys.js';
import { blocksKey, type Outcome } from '../message/outcome.js';
import type { PublishContext } from '../message/publish-context.js';
import type { PublishLayer, PublishStep } from '../observe/interceptors.js';
import type { Availability, PausedTopics, RowTarget } from '../publish/availability.js';
import type { Breaker } from '../publish/breaker.js';
import { publishGroupThrough, publishThrough } from '../publish/intercepted-publish.js';
import type { OutboxPublisher, PublishResult } from '../publish/outbox-publisher.js';
import { type PublishBounds, publishBounded } from './publish-bounded.js';
import { BatchQueue, type RowInFlight } from './rows-in-flight.js';
import type { Verdicts } from './verdicts.js';

type Group = [RowInFlight, ...RowInFlight[]];

/** A publish that was started. `gaveUp`: it was aborted, so its result says nothing about the destination. */
interface Sent {
  readonly breaker: Breaker;
  readonly ticket: number;
  readonly gaveUp: boolean;
}

export interface BatchPublishingOptions {
  readonly publisher: OutboxPublisher;
  /** The publish interceptors, outermost first. */
  readonly layers: readonly PublishLayer[];
  readonly verdicts: Verdicts;
  /** By the store's clock, as `createdAt` of the rows; undefined if rows can't get too old. */
  readonly claimedAtMs: number | undefined;
  readonly availability: Availability;
  readonly pauses: PausedTopics;
  readonly bounds: PublishBounds;
  readonly concurrency: number;
  /** Called for each row whose outcome is known. */
  readonly onEnded: () => void;
}

/** Publishes the rows of a batch and decides the outcome of each. Writes nothing to the store. */
export class BatchPublishing {
  readonly #rows: readonly RowInFlight[];
  readonly #options: BatchPublishingOptions;
  readonly #queue: BatchQueue;
  readonly #publish: PublishStep;
  #isClosed = false;

  constructor(rows: readonly RowInFlight[], options: BatchPublishingOptions) {
    this.#rows = rows;
    this.#options = options;
    this.#queue = new BatchQueue(rows);
    const { layers, publisher } = options;
    this.#publish =
      layers.length > 0
        ? publishThrough(layers, publisher)
        : (row, context) => publisher.publish(row, context);
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
      const target = this.#options.availability.targetOf(next.row);
      const keepsSlot = target.publisher.publishBatch
        ? await this.#publishGroup(target, next)
        : await this.#publishOne(target, next);
      // A publisher that is still running keeps our slot, so this lane needs another one to continue.
      if (keepsSlot && (this.#queue.isEmpty || !(await slots.acquire()))) return;
    }
    slots.release();
  }

  /** Returns true if the publisher is still running and keeps the slot. */
  async #publishOne(target: RowTarget, flight: RowInFlight): Promise<boolean> {
    const before = this.#verdictBefore(flight);
    // Awaiting a plain value would cost every row a trip through the microtask queue.
    const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
    const unpublished = verdict ?? (this.#mayStart(flight) ? undefined : released(flight));
    if (unpublished) {
      this.#end(flight, unpublished);
      return false;
    }
    const ticket = target.breaker.start();
    if (ticket === undefined) {
      this.#refuse(flight, target);
      return false;
    }
    // A copy: a publisher that changes its row must not change what is settled.
    const copy = { ...flight.row };
    const publish = (context: PublishContext) => this.#publish(copy, context);
    const end = await publishBounded([flight], publish, this.#options.bounds);
    const sent = { breaker: target.breaker, ticket, gaveUp: end.keepsSlot };
    this.#end(flight, end.published ? this.#success(flight, sent) : this.#failure(flight, sent, end.error));
    return end.keepsSlot;
  }

  /** Publishes `first` and all rows that can share its call. Returns true if the publisher keeps the slot. */
  async #publishGroup(target: RowTarget, first: RowInFlight): Promise<boolean> {
    const { publisher, breaker } = target;
    const group = await this.#publishable(this.#takeGroup(first, breaker));
    if (!isGroup(group)) return false;
    const ticket = breaker.start();
    if (ticket === undefined) {
      for (const flight of group) this.#refuse(flight, target);
      return false;
    }
    const copies = group.map(({ row }) => ({ ...row }));
    const publishTogether = publishGroupThrough(this.#options.layers);
    const publish = (context: PublishContext) => publishTogether(publisher, copies, context);
    const end = await publishBounded(group, publish, this.#options.bounds);
    const sent = { breaker, ticket, gaveUp: end.keepsSlot };
    // Rows behind a failed row of their key are released, even if they were sent: they are sent again after it.
    const held = new HeldKeys();
    for (const [index, flight] of group.entries()) {
      const result = end.published ? end.value[index] : { status: 'rejected' as const, reason: end.error };
      const outcome = held.has(flight) ? released(flight) : this.#outcomeOf(result, flight, sent);
      if (blocksKey(outcome)) held.hold(flight);
      this.#end(flight, outcome);
    }
    return end.keepsSlot;
  }

  /** A destination that may be back is tried with one row. */
  #takeGroup(first: RowInFlight, breaker: Breaker): RowInFlight[] {
    if (breaker.isTrying) return [first];
    const { availability } = this.#options;
    return this.#queue.takeGroup(first, ({ row }) => availability.targetOf(row).breaker === breaker);
  }

  #refuse(flight: RowInFlight, target: RowTarget): void {
    this.#end(flight, unavailable(flight, this.#options.availability.refused(flight.row, target)));
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

  #outcomeOf(result: PublishResult | undefined, flight: RowInFlight, sent: Sent): Outcome {
    return result?.status === 'fulfilled'
      ? this.#success(flight, sent)
      : this.#failure(flight, sent, result?.reason);
  }

  #success({ id }: RowInFlight, { breaker, ticket }: Sent): Outcome {
    breaker.answered(ticket);
    return { id, kind: 'dispatched' };
  }

  #failure(flight: RowInFlight, { breaker, ticket, gaveUp }: Sent, error: unknown): Outcome {
    const absence = gaveUp ? breaker.gaveUp(ticket, error) : breaker.failed(ticket, flight.id, error);
    if (absence && !absence.isRowsFault) return unavailable(flight, absence.waitMs);
    const outcome = this.#options.verdicts.ofFailure(error, flight.row);
    // A row that looks like an outage must not be the next one to be tried.
    if (!absence || outcome.kind !== 'failed') return outcome;
    return { ...outcome, delayMs: Math.max(outcome.delayMs, absence.waitMs) };
  }

  #verdictBefore(flight: RowInFlight): Outcome | undefined | Promise<Outcome | undefined> {
    if (this.#queue.isHeldBack(flight)) return released(flight);
    const { verdicts, claimedAtMs, pauses } = this.#options;
    const verdict = () => verdicts.beforePublish(flight.row, claimedAtMs);
    return pauses.freshened?.then(verdict) ?? verdict();
  }

  #mayStart(flight: RowInFlight): boolean {
    const { bounds, pauses } = this.#options;
    if (this.#isClosed || flight.isOverLimit) return false;
    return bounds.lease.holds(flight) && !pauses.has(flight.row.topic);
  }

  #end(flight: RowInFlight, outcome: Outcome): void {
    this.#queue.ended(flight, outcome);
    if (flight.phase === 'abandoned') return;
    flight.phase = 'ended';
    flight.outcome = outcome;
    this.#options.onEnded();
  }
}

function released({ id }: RowInFlight): Outcome {
  return { id, kind: 'released' };
}

function unavailable({ id }: RowInFlight, delayMs: number): Outcome {
  return { id, kind: 'released', delayMs, isUnavailable: true };
}

function isGroup(rows: readonly RowInFlight[]): rows is Group {
  return rows.length > 0;
}
