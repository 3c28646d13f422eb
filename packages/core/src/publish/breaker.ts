import { errorText } from '../message/error-text.js';
import { boundedDelayMs, type Random } from '../message/retry-policy.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';
import { type Absence, absenceOf } from './absence.js';

/** Uncertain failures in a row, without a success between them, that mean the destination is away. */
const FAILURES_TO_OPEN = 3;
// Waits between tries. They double and have jitter.
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** More workers than these wait longer, each by the root of their number: all together they try somewhat more often. */
const FEW_WORKERS = 8;
/** A destination can't ask to be left alone for longer. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Rows that had to wait for a destination fall due over this time. */
const SPREAD_MS = 1_000;
/** Rows remembered as having failed like an outage. */
const MAX_SUSPECTS = 1_000;

/** `away`: nothing is sent. `probing`: one row is on its way, to see whether the destination is back. */
type State = 'available' | 'away' | 'probing';

/** A destination that is away. */
export interface Outage {
  readonly destination: string;
  /** How long it has been away. */
  readonly sinceMs: number;
  /** When it is tried again. */
  readonly nextTryInMs: number;
  readonly error: string;
}

/** What a failure that looks like an outage means for its row. */
export interface AbsenceVerdict {
  /** Others got through since the row last failed like this, so it counts as an attempt. */
  readonly isRowsFault: boolean;
  /** The row must not be sent before. */
  readonly waitMs: number;
}

export interface BreakerOptions {
  readonly events: DispatchEvents;
  readonly clock: Clock;
  readonly random: Random;
  /** How many workers try the same destinations, as far as this one knows. */
  readonly workers: () => number;
}

/**
 * Stops publishing to a destination that is away, and finds out when it is back by sending one real row at a time.
 * Results of publishes that began before the last change of state are ignored.
 */
export class Breaker {
  readonly destination: string;
  readonly #events: DispatchEvents;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #workers: () => number;
  /** Rows that failed like an outage, each with the last ticket at that time. */
  readonly #suspects = new Map<string, number>();
  #state: State = 'available';
  /** Tickets count the publishes, in the order in which they began. */
  #lastTicket = 0;
  /** The first ticket after the last change of state. */
  #firstTicket = 1;
  /** The ticket of the newest publish that was answered. */
  #answeredTicket = 0;
  #failuresInARow = 0;
  #triesInARow = 0;
  #awaySinceMs = 0;
  #nextTryAtMs = 0;
  #lastError: unknown;

  constructor(destination: string, { events, clock, random, workers }: BreakerOptions) {
    this.destination = destination;
    this.#events = events;
    this.#clock = clock;
    this.#random = random;
    this.#workers = workers;
  }

  /** Undefined while the destination is available. */
  get outage(): Outage | undefined {
    if (this.#state === 'available') return undefined;
    const nowMs = this.#clock.monotonicMs();
    return {
      destination: this.destination,
      sinceMs: Math.round(nowMs - this.#awaySinceMs),
      nextTryInMs: Math.round(this.waitMs),
      error: errorText(this.#lastError),
    };
  }

  /** How long nothing may be sent; 0 when the destination is available or due for its next try. */
  get waitMs(): number {
    if (this.#state === 'available') return 0;
    // While a row is on its way, its result decides; look again after the shortest wait.
    if (this.#state === 'probing') return FIRST_WAIT_MS;
    // Rounded up: a timer for a fraction of a millisecond may fire before the time has come.
    return Math.max(0, Math.ceil(this.#nextTryAtMs - this.#clock.monotonicMs()));
  }

  /** Whether at most one row may be sent. */
  get isTrying(): boolean {
    return this.#state !== 'available';
  }

  /** Returns a ticket for `answered` or `failed`; undefined if the row must wait. */
  start(): number | undefined {
    if (this.waitMs > 0) return undefined;
    if (this.#state === 'away') this.#change('probing');
    this.#lastTicket += 1;
    return this.#lastTicket;
  }

  /** A row that can't be sent now falls due somewhat after the next try. */
  get releaseMs(): number {
    return this.#spreadMs(this.waitMs);
  }

  /** The destination answered: it took the row, or refused it for a reason of the row. */
  answered(ticket: number): void {
    this.#answeredTicket = Math.max(this.#answeredTicket, ticket);
    if (!this.#isCurrent(ticket)) return;
    this.#failuresInARow = 0;
    if (this.#state !== 'probing') return;
    this.#change('available');
    this.#triesInARow = 0;
    const afterMs = Math.round(this.#clock.monotonicMs() - this.#awaySinceMs);
    this.#events.emit('available', { destination: this.destination, afterMs });
  }

  /** Returns undefined, and counts it as an answer, if the error is about the row. */
  failed(ticket: number, id: string, error: unknown): AbsenceVerdict | undefined {
    const absence = absenceOf(error);
    if (!absence) {
      this.answered(ticket);
      return undefined;
    }
    const isRowsFault = this.#wasAlone(id);
    if (this.#isCurrent(ticket)) this.#onAbsence(absence, isRowsFault, error);
    // Spread, or a row would come back each time together with the one that makes the destination cut its connection.
    const firstMs = isRowsFault ? this.#spreadMs(FIRST_WAIT_MS) : FIRST_WAIT_MS;
    const leastMs = this.#state === 'available' ? firstMs : this.releaseMs;
    return { isRowsFault, waitMs: boundedDelayMs(Math.max(leastMs, absence.retryAfterMs)) };
  }

  /** The publish took too long or its claim was lost, so nobody knows. A try that ends like this has failed. */
  gaveUp(ticket: number, error: unknown): undefined {
    if (this.#isCurrent(ticket) && this.#state === 'probing')
      this.#open({ isCertain: false, retryAfterMs: 0 }, error);
  }

  #spreadMs(ms: number): number {
    return Math.ceil(ms + this.#random() * SPREAD_MS);
  }

  #onAbsence(absence: Absence, isRowsFault: boolean, error: unknown): void {
    this.#failuresInARow += isRowsFault ? 0 : 1;
    const isAway = absence.isCertain || this.#failuresInARow >= FAILURES_TO_OPEN;
    if (this.#state === 'probing' || (isAway && !isRowsFault)) this.#open(absence, error);
  }

  #open({ retryAfterMs }: Absence, error: unknown): void {
    const nowMs = this.#clock.monotonicMs();
    const isNew = this.#state === 'available';
    if (isNew) this.#awaySinceMs = nowMs;
    const doubledMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(this.#triesInARow, 10), LONGEST_WAIT_MS);
    const longestMs = doubledMs * Math.sqrt(Math.max(1, this.#workers() / FEW_WORKERS));
    this.#triesInARow += 1;
    const waitMs = Math.ceil(longestMs * (0.5 + this.#random() / 2));
    this.#nextTryAtMs = nowMs + Math.max(waitMs, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
    this.#lastError = error;
    this.#failuresInARow = 0;
    this.#change('away');
    if (isNew) {
      const nextTryInMs = Math.ceil(this.#nextTryAtMs - nowMs);
      this.#events.emit('unavailable', { destination: this.destination, error, nextTryInMs });
    }
  }

  /**
   * Whether the destination answered others since this row last failed like an outage. Answers to publishes that had
   * begun before that failure don't count: the destination may have gone away in between.
   */
  #wasAlone(id: string): boolean {
    const ticketThen = this.#suspects.get(id);
    this.#suspects.delete(id);
    this.#suspects.set(id, this.#lastTicket);
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > MAX_SUSPECTS && oldest !== undefined) this.#suspects.delete(oldest);
    return ticketThen !== undefined && this.#answeredTicket > ticketThen;
  }

  #change(state: State): void {
    this.#state = state;
    this.#firstTicket = this.#lastTicket + 1;
  }

  #isCurrent(ticket: number): boolean {
    return ticket >= this.#firstTicket;
  }
}
