import type { OutboxRow } from '../message/outbox-row.js';
import type { StoreCalls } from '../runtime/store-calls.js';
import type { Clock } from '../runtime/timing.js';
import { Lease } from '../runtime/timing.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { RowInFlight } from './rows-in-flight.js';

/** The right of a registered worker to publish at all. Others may take its claims over when it ends. */
export interface Standing {
  readonly remainingMs: number;
}

/** A claim that was answered. */
export interface Claim {
  readonly token: string;
  readonly standing: Standing;
  /** Read before the claim was sent, so that our deadline passes before the database's. */
  readonly sentAtMs: number;
  /** Whether it returned as many rows as it asked for. */
  readonly isFull: boolean;
  /** Whether it asked for fewer rows than it might: for a try of a destination, or what a rate limit allows. */
  readonly isSmall: boolean;
  /** Rows that a rate limit does not allow now. They are released. */
  readonly overLimit: ReadonlySet<OutboxRow> | undefined;
}

/** Of a dispatcher that is not registered: only its claims count. */
export const UNREGISTERED: Standing = { remainingMs: Number.POSITIVE_INFINITY };

/** Extends the claim of one batch while its rows are published, and aborts publishes whose claim is lost. */
export class ClaimLease {
  readonly #store: OutboxStore;
  readonly #calls: StoreCalls;
  readonly #token: string;
  readonly #rows: readonly RowInFlight[];
  readonly #standing: Standing;
  readonly #lease: Lease;
  #extending = 0;

  constructor(
    store: OutboxStore,
    calls: StoreCalls,
    claim: Pick<Claim, 'token' | 'standing' | 'sentAtMs'>,
    rows: readonly RowInFlight[],
    clock: Clock,
  ) {
    this.#store = store;
    this.#calls = calls;
    this.#token = claim.token;
    this.#standing = claim.standing;
    this.#rows = rows;
    this.#lease = new Lease({
      ttlMs: store.claimTimeoutMs,
      sentAtMs: claim.sentAtMs,
      clock,
      renew: () => this.#extend(),
      onExpired: (why) => {
        for (const flight of rows) this.#lose(flight, `it expired and could not be extended${why}`);
      },
    });
  }

  /** Whether this row may be published now. */
  holds({ isHeld }: RowInFlight): boolean {
    return isHeld && this.#lease.remainingMs > 0 && this.#standing.remainingMs > 0;
  }

  /** Calls `abort` if the claims on all these rows are lost before `publishEnded`. */
  publishStarted(rows: readonly RowInFlight[], abort: (reason: Error) => void): void {
    const call = { abort, held: rows.length };
    for (const flight of rows) flight.call = call;
  }

  publishEnded(rows: readonly RowInFlight[]): void {
    for (const flight of rows) flight.call = undefined;
  }

  /** Aborts every running publish. */
  abortAll(reason: Error): void {
    const calls = new Set(this.#rows.map(({ call }) => call));
    for (const call of calls) call?.abort(reason);
  }

  /** Others may take the rows over: no publish of them may start or go on. */
  lose(reason: Error): void {
    this.drop(this.#rows);
    this.abortAll(reason);
  }

  /** Stops extending the claims on these rows, which are released or settled. */
  drop(rows: readonly RowInFlight[]): void {
    for (const flight of rows) flight.isHeld = false;
  }

  /** Holds rows again that could not be settled. */
  holdAgain(rows: readonly RowInFlight[]): void {
    if (this.#lease.remainingMs > 0) for (const flight of rows) flight.isHeld = true;
  }

  /** Whether no extension is under way. */
  get isIdle(): boolean {
    return this.#extending === 0;
  }

  /** Time until the claim expires, by the process's own clock. */
  get remainingMs(): number {
    return this.#lease.remainingMs;
  }

  /** Lets the claim expire. */
  stopExtending(): void {
    void this.#lease.stopRenewing();
  }

  end(): void {
    this.#lease.end();
    this.drop(this.#rows);
    this.publishEnded(this.#rows);
  }

  /** Returns whether any claim is left to hold. */
  async #extend(): Promise<boolean> {
    const asked = this.#rows.filter(({ isHeld }) => isHeld);
    const ids = asked.map(({ id }) => id);
    this.#extending += 1;
    const extending = this.#store.extendClaim(this.#token, ids).finally(() => {
      this.#extending -= 1;
    });
    const kept = new Set(await this.#calls.answer('extend', extending));
    for (const flight of asked)
      if (!kept.has(flight.id)) this.#lose(flight, 'another dispatcher took it, or it was requeued');
    return this.#rows.some(({ isHeld }) => isHeld);
  }

  #lose(flight: RowInFlight, why: string): void {
    if (!flight.isHeld) return;
    flight.isHeld = false;
    const { call } = flight;
    if (!call) return;
    call.held -= 1;
    if (call.held === 0) call.abort(new Error(`the claim on row ${flight.id} was lost: ${why}`));
  }
}
