/** How a connection is opened and closed. `open` must end by itself: give it a time-out. */
export interface ConnectionSource<T> {
  open(): Promise<T>;
  close(connection: T): Promise<void>;
}

/** One attempt to open a connection, and its result. */
interface Opened<T> {
  readonly connection: Promise<T>;
  result?: { readonly connection: T };
}

/** One connection for all calls: opened when it is first needed, and again after it was lost. */
export class SharedConnection<T> {
  readonly #source: ConnectionSource<T>;
  #current: Opened<T> | undefined;

  constructor(source: ConnectionSource<T>) {
    this.#source = source;
  }

  get isOpen(): boolean {
    return this.#current?.result !== undefined;
  }

  /** Returns the connection, opening it if there is none. Calls at the same time share one attempt. */
  get(): Promise<T> {
    this.#current ??= this.#open();
    return this.#current.connection;
  }

  /** The next `get` opens another one. Does nothing if that has happened already. It is not closed. */
  async lost(connection: T): Promise<void> {
    const current = this.#current;
    if (!current) return;
    const result = current.result ?? (await settled(current));
    if (result && result.connection === connection) this.#forget(current);
  }

  /**
   * Closes the connection, if there is one. One that is being opened is closed as soon as it is open. `get` may open
   * another one at any time.
   */
  async close(): Promise<void> {
    const current = this.#current;
    if (!current) return;
    this.#forget(current);
    const result = await settled(current);
    if (result) await this.#source.close(result.connection);
  }

  #open(): Opened<T> {
    const opened: Opened<T> = { connection: openWith(this.#source) };
    opened.connection.then(
      (connection) => {
        opened.result = { connection };
      },
      () => this.#forget(opened),
    );
    return opened;
  }

  #forget(opened: Opened<T>): void {
    if (this.#current === opened) this.#current = undefined;
  }
}

/** A source that throws before its first await rejects all the same. */
async function openWith<T>(source: ConnectionSource<T>): Promise<T> {
  return source.open();
}

/** Undefined if it could not be opened. */
async function settled<T>(opened: Opened<T>): Promise<Opened<T>['result']> {
  await opened.connection.catch(() => {});
  return opened.result;
}
