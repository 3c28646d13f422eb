import { randomUUID } from 'node:crypto';
import type { Clock } from '@postcommit/core';
import { atMost } from '../at-most.js';
import type { TableName } from '../table-name.js';
import type { ListenClientLike, Notification } from './listen-client-like.js';
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
  #lose: (reason: unknown) => void = () => {};
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
      this.#lose = resolve;
    });
    this.#heardProbe = new Promise((resolve) => {
      this.#hearProbe = resolve;
    });
    // They stay on the client for good: an error may come after the end, and one that nobody hears ends the process.
    client.on('error', (error) => this.#fail(error));
    client.on('end', () => this.#fail(new Error('the server closed the connection that listens')));
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

  /** Asks now and then whether the connection lives: one that was cut off without a word looks like an idle one. */
  checkRegularly(): void {
    if (this.#end) return;
    this.#cancelCheck = this.#clock.schedule(CHECK_EVERY_MS, () => {
      this.#step('a check', ANSWER_MS, () => this.#client.query('select 1')).then(
        () => this.checkRegularly(),
        (error: unknown) => this.#fail(error),
      );
    });
  }

  /** At any time, also in the middle of `open`. Afterwards no timer and no connection remains. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#fail(new Error('the connection that listens was closed'));
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

  #fail(reason: unknown): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#cancelCheck?.();
    this.#failStep?.(reason);
    this.#lose(reason);
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
