import { setMaxListeners } from 'node:events';
import { isOutboxError } from '@postcommit/core';
import { absenceOf, SharedConnection } from '@postcommit/core/internal';
import { ConfirmedChannel } from './confirmed-channel.js';
import { openConnection } from './connect.js';
import { type Connection, withinLimit } from './connection.js';
import { notConnected } from './errors.js';
import type { ResolvedOptions } from './options.js';
import { declareTopology } from './topology.js';

/** Opens the connection and its channel when they are needed, and again after they were lost. Ends with `stop`. */
export class ChannelSource {
  readonly #options: ResolvedOptions;
  readonly #stopping = new AbortController();
  readonly #connections: SharedConnection<Connection>;
  readonly #channels: SharedConnection<ConfirmedChannel>;
  #latest: Connection | undefined;
  /** Some message has found a queue, so one that does not is an exception. */
  hasRouted = false;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    // Every publish in flight listens to it.
    setMaxListeners(0, this.#stopping.signal);
    this.#connections = new SharedConnection({
      open: () => this.#connect(),
      close: (connection) => connection.close(),
    });
    this.#channels = new SharedConnection({
      open: () => this.#openChannel(),
      // Closing our own connection ends its channels as well.
      close: async (channel) => (channel.connection.isOwn ? undefined : channel.close()),
    });
  }

  /** Aborts when nothing more may be sent. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  get isOpen(): boolean {
    return this.#channels.isOpen;
  }

  get blockedBecause(): string | undefined {
    return this.#latest?.isLost ? undefined : this.#latest?.blockedBecause;
  }

  async channel(): Promise<ConfirmedChannel> {
    const channel = await this.#channels.get();
    if (!channel.closing) return channel;
    await this.#channels.lost(channel);
    return this.#channels.get();
  }

  /** A channel that nobody else uses. */
  async newChannel(): Promise<ConfirmedChannel> {
    const connection = await this.#connection();
    const opened = await this.#bounded(connection, connection.client.createConfirmChannel());
    return new ConfirmedChannel(opened, connection, this.#options.exchange);
  }

  /** Drops what a channel has not sent. The connection goes with it, unless it belongs to the application. */
  abandon(channel: ConfirmedChannel): void {
    const { connection } = channel;
    void this.#channels.lost(channel);
    if (connection.isOwn) {
      connection.destroy();
      void this.#connections.lost(connection);
    } else {
      void channel.close();
    }
  }

  /** Looks at the broker beside the rows. Every error says that the broker is away. */
  async inspect<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#connection();
    return this.#bounded(connection, work(connection));
  }

  /** Ends what is being sent, and closes what was opened. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#channels.close();
    await this.#connections.close();
  }

  async #connection(): Promise<Connection> {
    const connection = await this.#connections.get();
    if (!connection.isLost) return connection;
    await this.#connections.lost(connection);
    return this.#connections.get();
  }

  async #connect(): Promise<Connection> {
    const connection = await openConnection(this.#options, this.stopped);
    this.#latest = connection;
    connection.whenLost(() => void this.#connections.lost(connection));
    try {
      await this.#bounded(connection, declareTopology(connection, this.#options));
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  async #openChannel(): Promise<ConfirmedChannel> {
    const channel = await this.newChannel();
    channel.whenClosed(() => void this.#channels.lost(channel));
    return channel;
  }

  async #bounded<T>(connection: Connection, step: Promise<T>): Promise<T> {
    try {
      return await withinLimit(this.#options.connectTimeoutMs, step, () => {
        connection.destroy();
        void this.#connections.lost(connection);
      });
    } catch (error) {
      if (isOutboxError(error) || absenceOf(error)) throw error;
      throw notConnected('RabbitMQ closed the channel or the connection', error);
    }
  }
}
