import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as it arrived. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  /** The local address that was connected to. */
  readonly localAddress: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Answers a request; by default with 204. */
export type Answer = (response: ServerResponse, request: RecordedRequest) => void;

/** A real HTTP server on this host that records every request. */
export class RecordingServer {
  readonly requests: RecordedRequest[] = [];
  answer: Answer = (response) => response.writeHead(204).end();
  /** Responses that have neither ended nor been cut off. */
  unfinished = 0;
  #server: Server | undefined;
  #port = 0;

  static async open(host = '127.0.0.1'): Promise<RecordingServer> {
    const recording = new RecordingServer();
    await recording.listen(host);
    return recording;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** On the same port as before, if it was closed. Does nothing if it was not. */
  async listen(host = '127.0.0.1'): Promise<void> {
    if (this.#server) return;
    const server = createServer({ maxHeaderSize: 262_144 }, (request, response) => {
      // A request that is cut off was not received.
      this.#receive(request, response).catch(() => response.destroy());
    });
    server.listen(this.#port, host);
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Open connections, idle ones too. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      if (!this.#server) return resolve(0);
      return this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async #receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.unfinished += 1;
    response.once('close', () => {
      this.unfinished -= 1;
    });
    const { method = '', url = '', headersDistinct, socket } = incoming;
    const body = await buffer(incoming);
    const headers = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
    const request = {
      method,
      path: url,
      localAddress: socket.localAddress ?? '',
      headers: Object.fromEntries(headers),
      body,
    };
    this.requests.push(request);
    this.answer(response, request);
  }
}
