import { randomUUID } from 'node:crypto';
import type { Clock } from '@postcommit/core';
import { endsWithin, type HintKind } from '@postcommit/core/internal';
import type { TableName } from '../../table-name.js';
import { DedicatedSession } from './dedicated-session.js';
import type { ListenClientLike, Notification } from './listen-client-like.js';
import { channelOf, kindOf, listen, probeIn } from './notify.js';

/** From the COMMIT of a notification to its arrival, which normally takes a millisecond. */
const PROOF_MS = 5_000;
/** How often an idle connection is checked, and how long it has to respond. */
const CHECK_INTERVAL_MS = 30_000;
const CHECK_MS = 5_000;

/** One listener connection, from open to close. */
export class ListenerConnection {
  /** Notifications arrive in it, so it does not go through a transaction pooler. */
  readonly session: DedicatedSession;
  readonly #client: ListenClientLike;
  readonly #table: TableName;
  readonly #clock: Clock;
  readonly #probe = randomUUID();
  readonly #probeHeard: Promise<void>;
  #resolveProbe: () => void = () => {};
  #cancelCheck: (() => void) | undefined;

  constructor(client: ListenClientLike, table: TableName, onHint: (kind: HintKind) => void, clock: Clock) {
    this.session = new DedicatedSession(client, clock);
    this.#client = client;
    this.#table = table;
    this.#clock = clock;
    this.#probeHeard = new Promise((resolve) => {
      this.#resolveProbe = resolve;
    });
    client.on('notification', (notification) => this.#receive(notification, onHint));
  }

  async open(): Promise<void> {
    await this.session.connect();
    await this.session.step('LISTEN', () => this.#client.query(listen(this.#table)));
  }

  /** Whether a notification that `send` sends from another connection arrives here. */
  async hears(send: (probe: string) => Promise<unknown>): Promise<boolean> {
    await this.session.step('NOTIFY from another connection', () => send(this.#probe));
    const lost = this.session.lost.then((reason) => Promise.reject(reason));
    return endsWithin(PROOF_MS, Promise.race([this.#probeHeard, lost]), this.#clock);
  }

  /** Checks the connection at intervals: one that was cut off silently looks like an idle one. */
  checkRegularly(): void {
    if (this.session.hasEnded) return;
    this.#cancelCheck = this.#clock.schedule(CHECK_INTERVAL_MS, () => {
      // The query under way has its own time limit.
      if (!this.session.isFree) return this.checkRegularly();
      this.session
        .step('a check', () => this.#client.query('select 1'), CHECK_MS)
        .then(
          () => this.checkRegularly(),
          (error: unknown) => this.session.lose(error),
        );
    });
  }

  /** May be called at any time, even during `open`. Leaves no timer and no connection behind. */
  close(): Promise<void> {
    this.#cancelCheck?.();
    return this.session.close();
  }

  #receive({ channel, payload = '' }: Notification, onHint: (kind: HintKind) => void): void {
    if (this.session.hasEnded || channel !== channelOf(this.#table)) return;
    const probe = probeIn(payload);
    if (probe === undefined) onHint(kindOf(payload));
    else if (probe === this.#probe) this.#resolveProbe();
  }
}
