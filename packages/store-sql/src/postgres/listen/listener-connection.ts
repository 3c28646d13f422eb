import { randomUUID } from 'node:crypto';
import type { Clock } from '@postcommit/core';
import { atMost } from '../../at-most.js';
import type { SqlRecord } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';
import type { ListenClientLike, NamedQuery, Notification } from './listen-client-like.js';
import { channelOf, listen, probeIn } from './notify.js';

/** A step that takes longer has failed: a connection can be dead without anybody saying so. */
const STEP_MS = 10_000;
/** From the COMMIT of a notification to its arrival; a millisecond is normal. */
const PROOF_MS = 5_000;
/** How often an idle connection is asked whether it still lives, and how long it has to answer. */
const CHECK_EVERY_MS = 30_000;
const ANSWER_MS = 5_000;
/** How long the other side has to say goodbye. */
const GOODBYE_MS = 1_000;

/** One connection that listens, from its opening to its end. Whatever ends it comes out as `lost`, and only there. */
export class ListeningConnection {
  /** Resolves with the reason once nothing is heard any more. Never rejects. */
  readonly lost: Promise<unknown>;
  readonly #client: ListenClientLike;
  readonly #table: TableName;
  readonly #clock: Clock;
  readonly #probe = randomUUID();
  readonly #heardProbe: Promise<boolean>;
  #hearProbe: (isHeard: boolean) => void = () => {};
  #tellLost: (reason: unknown) => void = () => {};
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
      this.#tellLost = resolve;
    });
    this.#heardProbe = new Promise((resolve) => {
      this.#hearProbe = resolve;
    });
    // They stay on the client for good: an error may come after the end, and one that nobody hears ends the process.
    client.on('error', (error) => this.lose(error));
    client.on('end', () => this.lose(new Error('the server closed the connection that listens')));
    client.on('notification', (notification) => this.#receive(notification, onHint));
  }

  async open(): Promise<void> {
    await this.#step('connecting', STEP_MS, () => this.#client.connect());
    this.#isConnected = true;
    await this.#step('LISTEN', STEP_MS, () => this.#client.query(listen(this.#table)));
  }

  /** Whether a notification arrives here that `send` sends from another connection. */
  async hears(send: (probe: string) => Promise<unknown>): Promise<boolean> {
    await this.#step('NOTIFY from another connection', STEP_MS, () => send(this.#probe));
    const isTooLate = (): Promise<boolean> => Promise.resolve(false);
    return this.#step('its arrival', PROOF_MS, () => this.#heardProbe, isTooLate);
  }

  /** Whether something can be asked: one thing at a time, and nothing after the end. */
  get isFree(): boolean {
    return this.#end === undefined && this.#failStep === undefined;
  }

  async ask(query: NamedQuery): Promise<SqlRecord[]> {
    return (await this.#step('an answer', STEP_MS, () => this.#client.query(query))).rows;
  }

  /** Asks now and then whether the connection lives: one that was cut off without a word looks like an idle one. */
  checkRegularly(): void {
    if (this.#end) return;
    this.#cancelCheck = this.#clock.schedule(CHECK_EVERY_MS, () => {
      // Whatever is being asked has a limit of its own.
      if (!this.isFree) return this.checkRegularly();
      this.#step('a check', ANSWER_MS, () => this.#client.query('select 1')).then(
        () => this.checkRegularly(),
        (error: unknown) => this.lose(error),
      );
    });
  }

  /** Ends it for this reason; only the first one counts. */
  lose(reason: unknown): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#cancelCheck?.();
    this.#failStep?.(reason);
    this.#tellLost(reason);
  }

  /** At any time, also in the middle of `open`. Afterwards no timer and no connection remains. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.lose(new Error('the connection that listens was closed'));
    const goodbye = this.#client.end();
    // A client that is still connecting would end only when it has connected.
    if (this.#isConnected) await atMost(GOODBYE_MS, goodbye, this.#clock);
    this.#client.connection?.stream.destroy();
    await atMost(GOODBYE_MS, goodbye, this.#clock);
  }

  #receive({ channel, payload = '' }: Notification, onHint: () => void): void {
    if (this.#end || channel !== channelOf(this.#table)) return;
    const probe = probeIn(payload);
    if (probe === undefined) onHint();
    else if (probe === this.#probe) this.#hearProbe(true);
  }

  /** One at a time. Fails when it takes too long, and when the connection ends meanwhile. */
  async #step<T>(
    name: string,
    limitMs: number,
    work: () => Promise<T>,
    late: () => Promise<T> = () => Promise.reject(noAnswer(name, limitMs)),
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

function noAnswer(step: string, limitMs: number): Error {
  return new Error(`the connection that listens: ${step} took more than ${limitMs} ms`);
}
