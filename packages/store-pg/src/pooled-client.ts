import type { PgPoolClientLike, PgPoolLike } from './pg-client-like.js';

/** A client of the pool, from check-out to release. */
export class PooledClient {
  readonly #client: PgPoolClientLike;
  #isReleased = false;

  /**
   * A pool does not handle the errors of a checked-out client, and an unhandled `error` event crashes the process. They
   * can be ignored, because the next query fails too. Uses a callback, not the promise: the server may close the
   * connection in the packet that makes it ready, and a promise resolves only after the whole packet was processed.
   */
  static checkOut(pool: PgPoolLike): Promise<PooledClient> {
    return new Promise((resolve, reject) => {
      const take = (client: PgPoolClientLike): void => resolve(new PooledClient(client));
      const promised: Promise<PgPoolClientLike> | undefined = pool.connect((error, client) =>
        client ? take(client) : reject(error),
      );
      promised?.then(take, reject);
    });
  }

  private constructor(client: PgPoolClientLike) {
    this.#client = client;
    client.on('error', ignore);
  }

  get client(): PgPoolClientLike {
    return this.#client;
  }

  release(): void {
    this.#release(false);
  }

  /** Closes the connection, with any query that still runs on it. */
  discard(): void {
    this.#release(true);
  }

  /** Closes a client that fails to roll back: the next caller would continue its transaction. */
  async rollBack(): Promise<void> {
    if (this.#isReleased) return;
    try {
      await this.#client.query('rollback');
      this.release();
    } catch {
      this.discard();
    }
  }

  #release(isBroken: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    // The error of a query that is cut off arrives after its client was discarded.
    if (!isBroken) this.#client.off('error', ignore);
    this.#client.release(isBroken);
  }
}

function ignore(): void {}
