import type { Clock } from '@postcommit/core';
import { atMost } from '../../at-most.js';
import type { ClaimSession } from '../../claim/claim-sessions.js';
import type { SqlExecutor, SqlRecord, SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';
import type { NamedQuery } from './listen-client-like.js';
import type { ListeningConnection } from './listener-connection.js';
import { claimSettings, seeTheSame, whatIsSeen } from './session.js';

/** How long the end waits for a claim: if it is cut off, nobody knows what was claimed. */
const LAST_CLAIM_MS = 5_000;

/**
 * Claims on the connection that listens. It is no pooler's, as notifications arrive, so that statements can stay
 * prepared there: a claim of one row then takes less than half of its time.
 */
export class PreparedClaims implements ClaimSession {
  readonly #connection: ListeningConnection;
  readonly #clock: Clock;
  /** By their texts, of which there is a handful. */
  readonly #names = new Map<string, string>();
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  /** Undefined where rows claimed there might be others than the executor settles. */
  static async on(
    connection: ListeningConnection,
    executor: SqlExecutor<never>,
    table: TableName,
    clock: Clock,
  ): Promise<PreparedClaims | undefined> {
    const [here] = await connection.ask(unnamed(whatIsSeen(table)));
    const [there] = await executor(whatIsSeen(table));
    if (!seeTheSame(here, there)) return undefined;
    await connection.ask(unnamed(claimSettings()));
    return new PreparedClaims(connection, clock);
  }

  private constructor(connection: ListeningConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  claim(statement: SqlStatement): Promise<SqlRecord[]> | undefined {
    if (this.#hasEnded || !this.#connection.isFree) return undefined;
    const claiming = this.#connection.ask(this.#named(statement));
    // As a pool does with a connection on which something failed: whatever it was, a new one may be rid of it. A claim
    // that is not answered, be it that it waits for a lock, ends it too, and the next one goes another way.
    this.#last = claiming.catch((error: unknown) => this.#connection.lose(error));
    return claiming;
  }

  doubt(): void {
    this.#connection.lose(
      new Error(
        'nothing of a claim was found when it was settled: the connection that listens is replaced, in case that it is one to another server than those of the pool',
      ),
    );
  }

  /** No claim begins any more, and the last one is answered, unless that takes long. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await atMost(LAST_CLAIM_MS, this.#last, this.#clock);
  }

  #named({ text, values }: SqlStatement): NamedQuery {
    const name = this.#names.get(text) ?? `postcommit_${this.#names.size + 1}`;
    this.#names.set(text, name);
    return { name, text, values: [...values] };
  }
}

function unnamed({ text, values }: SqlStatement): NamedQuery {
  return { name: '', text, values: [...values] };
}
