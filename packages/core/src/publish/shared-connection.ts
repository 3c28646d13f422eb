/** A connection that can be lost. */
interface Opened<T> {
  readonly connection: Promise<T>;
}

/** How a connection is opened and closed. */
export interface ConnectionSource<T> {
  open(): Promise<T>;
  close(connection: T): Promise<void>;
}

/** One connection for all calls: opened when it is first needed, and again after it was lost. */
export class SharedConnection<T> {
  readonly #source: ConnectionSource<T>;
  #current: Opened<T> | undefined;
  #isOpen = false;

  constructor(source: ConnectionSource<T>) {
    this.#source = source;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Returns the connection, opening it if there is none. Calls at the same time share one attempt. */
  get(): Promise<T> {
    this.#current ??= this.#open();
    return this.#current.connection;
  }

  /** The next `get` opens another one. Does nothing if that has happened already. */
  async lost(connection: T): Promise<void> {
    const current = this.#current;
    if (current && (await settled(current)) === connection) this.#forget(current);
  }

  /** Closes the connection, if there is one. `get` may open another one afterwards. */
  async close(): Promise<void> {
    const current = this.#current;
    if (!current) return;
    this.#forget(current);
    const connection = await settled(current);
    if (connection !== undefined) await this.#source.close(connection);
  }

  #open(): Opened<T> {
    const opened: Opened<T> = { connection: this.#source.open() };
    opened.connection.then(
      () => {
        if (this.#current === opened) this.#isOpen = true;
      },
      () => this.#forget(opened),
    );
    return opened;
  }

  #forget(opened: Opened<T>): void {
    if (this.#current !== opened) return;
    this.#current = undefined;
    this.#isOpen = false;
  }
}

/** Undefined if it could not be opened. */
function settled<T>({ connection }: Opened<T>): Promise<T | undefined> {
  return connection.catch(() => undefined);
}
