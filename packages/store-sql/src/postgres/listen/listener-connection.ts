import { randomUUID } from 'node:crypto';
import type { Clock } from '@postcommit/core';
import { atMost } from '../../at-most.js';
import type { SqlRecord } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';
import type { ListenClientLike, NamedQuery, Notification } from './listen-client-like.js';
import { channelOf, listen, probeIn } from './notify.js';

/** A step that takes longer has failed: a connection can die without any notice. */
const STEP_MS = 10_000;
/** From the COMMIT of a notification to its arrival, which normally takes a millisecond. */
const PROOF_MS = 5_000;
/** How often an idle connection is checked, and how long it has to respond. */
const CHECK_INTERVAL_MS = 30_000;
const CHECK_MS = 5_000;
/** How long the server has to close the connection. */
const CLOSE_MS = 1_000;

/** One listener connection, from open to close. Whatever ends it resolves `lost`, and only that. */
export class ListenerConnection {
  /** Resolves with the reason when the connection no longer listens. Never rejects. */
  readonly lost: Promise<unknown>;
  readonly #client: ListenClientLike;
  readonly #table: TableName;
  readonly #clock: Clock;
  readonly #probe = randomUUID();
  readonly #probeHeard: Promise<boolean>;
  #resolveProbe: (isHeard: boolean) => void = () => {};
  #resolveLost: (reason: unknown) => void = () => {};
  #failStep: ((reason: unknown) => void) | undefined;
  #cancelCheck: (() => void) | undefined;
  #isConnected = false;
  #closed: Promise<void> | undefined;
  #end: { readonly reason: unknown } | undefined;

  constructor(client: ListenClientLike, table: TableName, onHint: () => void, clock: Clock) {
    this.#client = client;
    this.#table = table;
    this.#clock = clock;
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
    this.#probeHeard = new Promise((resolve) => {
      this.#resolveProbe = resolve;
    });
    // Never removed: an error may come after the end, and an unhandled 'error' event ends the process.
    client.on('error', (error) => this.lose(error));
    client.on('end', () => this.lose(new Error('the server closed the listener connection')));
    client.on('notification', (notification) => this.#receive(notification, onHint));
  }

  async open(): Promise<void> {
    await this.#step('connecting', STEP_MS, () => this.#client.connect());
    this.#isConnected = true;
    await this.#step('LISTEN', STEP_MS, () => this.#client.query(listen(this.#table)));
  }

  /** Whether a notification that `send` sends from another connection arrives here. */
  async hears(send: (probe: string) => Promise<unknown>): Promise<boolean> {
    await this.#step('NOTIFY from another connection', STEP_MS, () => send(this.#probe));
    const isTooLate = (): Promise<boolean> => Promise.resolve(false);
    return this.#step('its arrival', PROOF_MS, () => this.#probeHeard, isTooLate);
  }

  /** Whether a query can be sent: one at a time, and none after the end. */
  get isFree(): boolean {
    return this.#end === undefined && this.#failStep === undefined;
  }

  async query(query: NamedQuery): Promise<SqlRecord[]> {
    return (await this.#step('a query', STEP_MS, () => this.#client.query(query))).rows;
  }

  /** Checks the connection at intervals: one that was cut off silently looks like an idle one. */
  checkRegularly(): void {
    if (this.#end) return;
    this.#cancelCheck = this.#clock.schedule(CHECK_INTERVAL_MS, () => {
      // The query under way has its own time limit.
      if (!this.isFree) return this.checkRegularly();
      this.#step('a check', CHECK_MS, () => this.#client.query('select 1')).then(
        () => this.checkRegularly(),
        (error: unknown) => this.lose(error),
      );
    });
  }

  /** Ends the connection for this reason; only the first reason counts. */
  lose(reason: unknown): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#cancelCheck?.();
    this.#failStep?.(reason);
    this.#resolveLost(reason);
  }

  /** May be called at any time, even during `open`. Leaves no timer and no connection behind. */
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

  #receive({ channel, payload = '' }: Notification, onHint: () => void): void {
    if (this.#end || channel !== channelOf(this.#table)) return;
    const probe = probeIn(payload);
    if (probe === undefined) onHint();
    else if (probe === this.#probe) this.#resolveProbe(true);
  }

  /** Runs one step at a time. Fails when it takes too long, or when the connection ends in the meantime. */
  async #step<T>(
    name: string,
    limitMs: number,
    work: () => Promise<T>,
    late: () => Promise<T> = () => Promise.reject(timedOut(name, limitMs)),
  ): Promise<T> {
    if (this.#end) throw this.#end.reason;
    let cancel: (() => void) | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#failStep = reject;
        cancel = this.#clock.schedule(limitMs, () => resolve(late()));
        work().then(resolve, reject);
      });
    } finally {
      cancel?.();
      this.#failStep = undefined;
    }
  }
}

function timedOut(step: string, limitMs: number): Error {
  return new Error(`listener connection: ${step} took more than ${limitMs} ms`);
}
