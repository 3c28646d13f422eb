import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { StatementReader } from './statement-reader.js';

/** `answer`: the statement is run, and what the server says to it never arrives. `request`: it never reaches the server. */
export type Lost = 'answer' | 'request';

/** Whether it is this statement; `before` is the one that this connection ran last. */
export type StatementMatch = (text: string, before: string) => boolean;

interface Trap {
  readonly matches: StatementMatch;
  readonly lost: Lost;
  readonly sprung: () => void;
}

/** Stands between a process and the server and does what networks do. It reads along which statements pass. */
export class WireProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #target: URL;
  readonly #pairs = new Set<Pair>();
  #isFrozen = false;
  #delayMs = 0;
  #trap: Trap | undefined;

  static async open(url: string): Promise<WireProxy> {
    // Half open: not even a goodbye is answered by itself.
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return new WireProxy(url, server);
  }

  private constructor(url: string, server: Server) {
    this.#server = server;
    this.#target = new URL(url);
    const proxied = new URL(url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String((server.address() as AddressInfo).port);
    this.url = proxied.href;
    server.on('connection', (client) => this.#accept(client));
  }

  /** Ends every connection at once, as a router does that forgets them. */
  cut(): void {
    for (const pair of this.#pairs) pair.destroy();
  }

  /** From now on nothing passes, neither on old connections nor on new ones; nothing is closed or refused. */
  freeze(): void {
    this.#isFrozen = true;
    for (const pair of this.#pairs) pair.isSilent = true;
  }

  /** New connections pass again; the old ones stay silent. */
  thaw(): void {
    this.#isFrozen = false;
  }

  /** Every piece of data is late by so much, in both directions. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Cuts the connection at the next statement that matches. Resolves when that has happened. */
  cutAt(matches: StatementMatch, lost: Lost): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { matches, lost, sprung: resolve };
    });
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    const upstream = connect({
      port: Number(this.#target.port),
      host: this.#target.hostname,
      allowHalfOpen: true,
    });
    const pair = new Pair(client, upstream, {
      delayMs: () => this.#delayMs,
      onStatement: (text, before) => this.#takeTrap(text, before),
    });
    pair.isSilent = this.#isFrozen;
    this.#pairs.add(pair);
    // A silent one may have its other half open still, until the proxy itself is closed.
    client.on('close', () => {
      if (!pair.isSilent) this.#pairs.delete(pair);
    });
  }

  /** A trap springs once. */
  #takeTrap(text: string, before: string): Trap | undefined {
    const trap = this.#trap;
    if (!trap?.matches(text, before)) return undefined;
    this.#trap = undefined;
    return trap;
  }
}

interface PairHooks {
  readonly delayMs: () => number;
  readonly onStatement: (text: string, before: string) => Trap | undefined;
}

/** One connection of a client and the one that was made for it. */
class Pair {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #hooks: PairHooks;
  readonly #reader = new StatementReader();
  #trap: Trap | undefined;
  #before = '';
  isSilent = false;

  constructor(client: Socket, upstream: Socket, hooks: PairHooks) {
    this.#client = client;
    this.#upstream = upstream;
    this.#hooks = hooks;
    for (const socket of [client, upstream]) {
      socket.setNoDelay();
      socket.on('error', () => this.destroy());
      // With open halves the end of one side is passed on by hand.
      socket.on('end', () => {
        if (!this.isSilent) this.#other(socket).end();
      });
      socket.on('close', () => {
        if (!this.isSilent) this.#other(socket).destroy();
      });
    }
    client.on('data', (data) => this.#fromClient(data));
    upstream.on('data', (data) => this.#fromServer(data));
  }

  destroy(): void {
    this.#client.resetAndDestroy();
    this.#upstream.destroy();
  }

  #fromClient(data: Buffer): void {
    if (this.isSilent) return;
    for (const text of this.#reader.read(data)) {
      this.#trap ??= this.#hooks.onStatement(text, this.#before);
      this.#before = text;
    }
    if (this.#trap?.lost === 'request') this.#spring();
    else this.#pass(data, this.#upstream);
  }

  /** An answer means that the statement has had its effect: a server says nothing before. */
  #fromServer(data: Buffer): void {
    if (this.isSilent) return;
    if (this.#trap) this.#springWhenDone(data);
    else this.#pass(data, this.#client);
  }

  /** `Z`, ready for the next statement, ends an answer: the transaction of a single statement is committed by then. */
  #springWhenDone(data: Buffer): void {
    const isReady =
      data.length >= 6 && data.at(-6) === 'Z'.charCodeAt(0) && data.readInt32BE(data.length - 5) === 5;
    if (isReady) this.#spring();
  }

  #spring(): void {
    const trap = this.#trap;
    this.destroy();
    trap?.sprung();
  }

  #pass(data: Buffer, to: Socket): void {
    const delayMs = this.#hooks.delayMs();
    if (delayMs === 0) to.write(data);
    else
      setTimeout(() => {
        if (!to.destroyed) to.write(data);
      }, delayMs);
  }

  #other(socket: Socket): Socket {
    return socket === this.#client ? this.#upstream : this.#client;
  }
}
