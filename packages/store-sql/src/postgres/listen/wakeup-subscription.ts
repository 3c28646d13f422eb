import { type Clock, OutboxError } from '@postcommit/core';
import { backoffDelayMs, type HintKind, type WakeupListener } from '@postcommit/core/internal';
import type { ClaimSessions } from '../../claim/claim-sessions.js';
import { BoundedStatements } from '../../run-work.js';
import type { SqlExecutor, SqlRecord, SqlWork } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';
import { faultOf } from '../faults.js';
import type { ListenClientLike } from './listen-client-like.js';
import { ListenerConnection } from './listener-connection.js';
import { notifyProbe } from './notify.js';
import { prepareClaims } from './prepare-claims.js';

/** From half a second to half a minute; the jitter keeps a hundred workers from reconnecting at once. */
const RECONNECT = { type: 'exponential', delayMs: 1_000, maxDelayMs: 30_000, jitter: 'equal' } as const;

export interface SubscriptionSource {
  readonly executor: SqlExecutor<never>;
  readonly listenClient: () => ListenClientLike;
  readonly table: TableName;
  readonly clock: Clock;
  /** Where to offer the connection for claims. */
  readonly claimSessions: ClaimSessions | undefined;
}

/** Why listening ended, and whether to try again. */
interface Failure {
  readonly error: unknown;
  readonly willRetry: boolean;
}

/** One listener and its connection, which is replaced whenever it is lost. */
export class WakeupSubscription {
  readonly #source: SubscriptionSource;
  readonly #listener: WakeupListener;
  readonly #statements: BoundedStatements;
  readonly #ended: Promise<void>;
  #connection: ListenerConnection | undefined;
  #endPause: (() => void) | undefined;
  #failures = 0;
  #wasProven = false;
  #isStopped = false;

  constructor(source: SubscriptionSource, listener: WakeupListener) {
    this.#source = source;
    this.#listener = listener;
    this.#statements = new BoundedStatements({ ...source, dialect: { faultOf } });
    this.#ended = this.#run();
  }

  /** Resolves when no connection and no timer is left. The listener is not called any more, from this call on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endPause?.();
    await this.#connection?.session.endClaims();
    this.#statements.giveUp(new Error('the subscription was stopped'));
    await this.#connection?.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const { error, willRetry } = await this.#listenUntilLost();
      if (this.#isStopped) return;
      this.#listener.onStatus({ isListening: false, error, willRetry });
      if (!willRetry) return;
      this.#failures += 1;
      await this.#pause(backoffDelayMs(RECONNECT, this.#failures, Math.random));
    }
  }

  async #listenUntilLost(): Promise<Failure> {
    const { listenClient, table, clock } = this.#source;
    try {
      const connection = new ListenerConnection(listenClient(), table, (kind) => this.#hint(kind), clock);
      this.#connection = connection;
      await connection.open();
      const isProven = await connection.hears((probe) => this.#ask(notifyProbe(table, probe)));
      // What worked before will work again, for example once a failover is over.
      if (!isProven) return { error: cannotListen(), willRetry: this.#wasProven };
      await this.#offerForClaims(connection);
      this.#begin();
      connection.checkRegularly();
      return { error: await connection.session.lost, willRetry: true };
    } catch (error) {
      return { error, willRetry: true };
    } finally {
      await this.#closeConnection();
    }
  }

  async #offerForClaims({ session }: ListenerConnection): Promise<void> {
    const { claimSessions, table } = this.#source;
    if (claimSessions && (await prepareClaims(session, (work) => this.#ask(work), table)))
      claimSessions.add(session);
  }

  #ask(work: SqlWork): Promise<SqlRecord[]> {
    return this.#statements.run('wake-up', () => work);
  }

  async #closeConnection(): Promise<void> {
    if (!this.#connection) return;
    this.#source.claimSessions?.delete(this.#connection.session);
    await this.#connection.close();
    this.#connection = undefined;
  }

  #begin(): void {
    this.#wasProven = true;
    this.#failures = 0;
    if (!this.#isStopped) this.#listener.onStatus({ isListening: true });
    // Rows may have been enqueued while nobody listened.
    this.#hint('burst');
  }

  #hint(kind: HintKind): void {
    if (!this.#isStopped) this.#listener.onHint(kind);
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#source.clock.schedule(delayMs, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}

function cannotListen(): OutboxError {
  return new OutboxError(
    'INVALID_CONFIG',
    'a notification sent to the listener connection did not arrive, so workers poll instead of being woken: the connection probably goes through a transaction pooler such as PgBouncer, where LISTEN does not work, or to another database; make listenClient connect directly, or turn this off with wakeup: false',
  );
}
