import type { Clock } from '@postcommit/core';
import { BoundedWaits } from '@postcommit/core/internal';
import { atMost } from '../../at-most.js';
import type { ClaimSession } from '../../claim/claim-sessions.js';
import { STATEMENT_MS } from '../../run-work.js';
import type { SqlRecord, SqlStatement } from '../../sql-statement.js';
import type { ListenClientLike } from './listen-client-like.js';

/** A step that takes longer has failed: a connection can die without any notice. */
const STEP_MS = 10_000;
/** How long the server has to close the connection. */
const CLOSE_MS = 1_000;

/**
 * One connection outside the pool, from open to close, for one step at a time. Whatever ends it resolves `lost`, and only
 * that. Claims keep their statements prepared, which cuts the time of a claim of one row by more than half.
 */
export class DedicatedSession implements ClaimSession {
  /** Resolves with the reason when the connection has ended. Never rejects. */
  readonly lost: Promise<unknown>;
  readonly #client: ListenClientLike;
  readonly #clock: Clock;
  readonly #steps: BoundedWaits;
  /** The names of prepared claims by their text, of which there are only a handful. */
  readonly #names = new Map<string, string>();
  #resolveLost: (reason: unknown) => void = () => {};
  #lastClaim: Promise<unknown> = Promise.resolve();
  #takesClaims = true;
  #isConnected = false;
  #end: { readonly reason: unknown } | undefined;
  #closed: Promise<void> | undefined;

  constructor(client: ListenClientLike, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#steps = new BoundedWaits(
      clock,
      (step, limitMs) => new Error(`listener connection: ${step} took more than ${limitMs} ms`),
    );
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
    // Never removed: an error may come after the end, and an unhandled 'error' event ends the process.
    client.on('error', (error) => this.lose(error));
    client.on('end', () => this.lose(new Error('the server closed the listener connection')));
  }

  /** Whether a step can begin: one at a time, and none after the end. */
  get isFree(): boolean {
    return !this.hasEnded && this.#steps.isIdle;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  async connect(): Promise<void> {
    await this.step('connecting', () => this.#client.connect());
    this.#isConnected = true;
  }

  /** Runs a statement once. */
  query(statement: SqlStatement): Promise<SqlRecord[]> {
    return this.#query('', statement);
  }

  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined {
    if (!this.#takesClaims || !this.isFree) return undefined;
    const claiming = this.#query(this.#nameOf(statement), statement, STATEMENT_MS);
    // Like a pool, drop a connection on which a query failed. A claim that times out, even one that waits for a lock,
    // ends the connection too, and the next claim runs on the pool.
    this.#lastClaim = claiming.catch((error: unknown) => this.lose(error));
    return claiming;
  }

  invalidate(): void {
    this.lose(
      new Error(
        'settle matched no row of the claim; reconnecting the listener in case it points at a different server than the pool',
      ),
    );
  }

  /** Refuses new claims and waits for the last one: cutting it off would leave unknown what was claimed. */
  async endClaims(): Promise<void> {
    this.#takesClaims = false;
    await this.#lastClaim;
  }

  /** Fails when the step takes too long, or when the connection ends in the meantime. */
  async step<T>(name: string, work: () => Promise<T>, limitMs = STEP_MS): Promise<T> {
    if (this.#end) throw this.#end.reason;
    return this.#steps.within(limitMs, name, work());
  }

  /** Ends the connection for this reason; only the first reason counts. */
  lose(reason: unknown): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#steps.giveUp(reason);
    this.#resolveLost(reason);
  }

  /** May be called at any time, even during `connect`. Leaves no timer and no connection behind. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.lose(new Error('the listener connection was closed'));
    const ending = this.#client.end();
    // A client that is still connecting would end only after it has connected.
    if (this.#isConnected) await atMost(CLOSE_MS, ending, this.#clock);
    this.#client.connection?.stream.destroy();
    await atMost(CLOSE_MS, ending, this.#clock);
  }

  async #query(name: string, { text, values }: SqlStatement, limitMs?: number): Promise<SqlRecord[]> {
    const query = { name, text, values: [...values] };
    return (await this.step('a query', () => this.#client.query(query), limitMs)).rows;
  }

  #nameOf({ text }: SqlStatement): string {
    const name = this.#names.get(text) ?? `postcommit_${this.#names.size + 1}`;
    this.#names.set(text, name);
    return name;
  }
}
