import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The network between a publisher and its broker, as a TCP proxy. */
export interface Link {
  readonly host: string;
  readonly port: number;
  /** Ends every connection and refuses new ones, until `heal`. */
  cut(): Promise<void>;
  /** Lets nothing through in either direction, on old and new connections, until `heal`. */
  freeze(): void;
  /** The next request reaches the broker, but its answer does not come back: the connection is cut instead. */
  loseNextAnswer(): void;
  /** Lets everything through again. What was held back by `freeze` arrives now. */
  heal(): Promise<void>;
  /** How often the publisher has sent something since the last answer from the broker: an upper bound of round trips. */
  readonly roundTrips: number;
  close(): Promise<void>;
}

/** Opens a link on a free port of this host to a broker. */
export async function openLink(target: { readonly host: string; readonly port: number }): Promise<Link> {
  const link = new TcpLink(target);
  await link.listen(0);
  return link;
}

class TcpLink implements Link {
  readonly host = '127.0.0.1';
  port = 0;
  roundTrips = 0;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  #isFrozen = false;
  #losesNextAnswer = false;
  #wasAnswered = true;

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  async listen(port: number): Promise<void> {
    const server = createServer({ pauseOnConnect: true }, (client) => this.#join(client));
    this.#server = server;
    server.listen(port, this.host);
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const pair of this.#pairs) destroy(pair);
    if (!server) return;
    server.close();
    await once(server, 'close');
  }

  freeze(): void {
    this.#isFrozen = true;
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  loseNextAnswer(): void {
    this.#losesNextAnswer = true;
  }

  async heal(): Promise<void> {
    this.#isFrozen = false;
    this.#losesNextAnswer = false;
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
    if (!this.#server) await this.listen(this.port);
  }

  close(): Promise<void> {
    return this.cut();
  }

  #join(client: Socket): void {
    const broker = connect(this.#target);
    const pair = [client, broker] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#pairs.delete(pair);
        destroy(pair);
      });
    }
    client.on('data', (chunk) => {
      if (this.#wasAnswered) this.roundTrips += 1;
      this.#wasAnswered = false;
      broker.write(chunk);
    });
    broker.on('data', (chunk) => this.#answer(pair, chunk));
    if (this.#isFrozen) for (const socket of pair) socket.pause();
    else client.resume();
  }

  #answer(pair: readonly [Socket, Socket], chunk: Buffer): void {
    if (this.#losesNextAnswer && !this.#wasAnswered) {
      this.#losesNextAnswer = false;
      destroy(pair);
      return;
    }
    this.#wasAnswered = true;
    pair[0].write(chunk);
  }
}

function destroy(pair: readonly [Socket, Socket]): void {
  for (const socket of pair) socket.destroy();
}
