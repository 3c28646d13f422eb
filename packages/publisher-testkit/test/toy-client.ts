import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ToyAnswer, ToyCommand } from './toy-protocol.js';

interface Waiting {
  resolve(answer: ToyAnswer): void;
  reject(error: Error): void;
}

/** The driver of the toy broker: one connection, which ends for good when it is lost. */
export class ToyClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #lastSeq = 0;
  #error: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.once('close', () => this.#end());
    createInterface({ input: socket })
      .on('line', (line) => this.#settle(JSON.parse(line) as ToyAnswer))
      // It repeats the errors of the socket.
      .on('error', () => {});
  }

  /** Connects and logs in. Ends when the signal aborts. */
  static async open(
    address: { readonly host: string; readonly port: number },
    password: string,
    signal: AbortSignal,
  ): Promise<ToyClient> {
    const client = new ToyClient(connect({ ...address, noDelay: true }));
    const close = () => client.close(signal.reason);
    signal.addEventListener('abort', close, { once: true });
    try {
      signal.throwIfAborted();
      const { refused } = await client.request({ do: 'login', password });
      if (refused) throw Object.assign(new Error('login refused'), { code: 'TOY_LOGIN' });
      return client;
    } catch (error) {
      client.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Called once, when the connection is lost or closed. */
  onClose(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  request(command: ToyCommand): Promise<ToyAnswer> {
    if (!this.isOpen) return Promise.reject(this.#lost());
    const seq = ++this.#lastSeq;
    return new Promise((resolve, reject) => {
      this.#waiting.set(seq, { resolve, reject });
      this.#socket.write(`${JSON.stringify({ ...command, seq })}\n`);
    });
  }

  close(reason?: Error): void {
    this.#error ??= reason;
    this.#socket.destroy();
  }

  #settle(answer: ToyAnswer): void {
    this.#waiting.get(answer.seq)?.resolve(answer);
    this.#waiting.delete(answer.seq);
  }

  #end(): void {
    const error = this.#lost();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #lost(): Error {
    return this.#error ?? Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
  }
}
