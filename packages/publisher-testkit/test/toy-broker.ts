import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { listenOn } from '../src/listening.js';
import type { ReceivedMessage } from '../src/publisher-harness.js';
import type { ToyAnswer, ToyMessage, ToyRequest, ToySettings } from './toy-protocol.js';

export const PASSWORD = 'correct-horse';
export const MAX_BODY_BYTES = 300_000;

/** A broker with confirms, over TCP. It has the topics `orders`, which takes messages, and `full`, which refuses them. */
export class ToyBroker {
  readonly settings: ToySettings;
  readonly #sockets = new Set<Socket>();
  #stored: ToyMessage[] = [];
  #server: Server | undefined;
  #port: number | undefined;

  constructor(settings: Partial<ToySettings> = {}) {
    this.settings = { isDurable: true, dedupes: false, dedupeWindowMs: 600_000, ...settings };
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: this.#port ?? 0 };
  }

  get received(): ReceivedMessage[] {
    return this.#stored.map(({ id, topic, key, headers, contentType, body }) => ({
      id: headers['outbox-id'] ?? id,
      nativeId: id,
      destination: topic,
      key,
      headers,
      contentType,
      body: Buffer.from(body, 'base64'),
    }));
  }

  async start(): Promise<this> {
    const server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
    this.#server = server;
    this.#port = await listenOn(server, this.#port);
    return this;
  }

  /** As after `kill -9`: what was not durable is gone. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#stored = this.#stored.filter(({ isDurable }) => isDurable);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
    let isLoggedIn = false;
    const lines = createInterface({ input: socket }).on('error', () => {});
    lines.on('line', (line) => {
      const request = JSON.parse(line) as ToyRequest;
      const answer = isLoggedIn || request.do === 'login' ? this.#answer(request) : { refused: 'login' };
      if (request.do === 'login') isLoggedIn = answer.refused === undefined;
      if (socket.writable) socket.write(`${JSON.stringify({ ...answer, seq: request.seq })}\n`);
    });
  }

  #answer(request: ToyRequest): Omit<ToyAnswer, 'seq'> {
    if (request.do === 'settings') return { settings: this.settings };
    if (request.do === 'login') return request.password === PASSWORD ? {} : { refused: 'login' };
    if (request.message.topic === 'full') return { refused: 'full' };
    if (request.message.topic !== 'orders') return { refused: 'no topic' };
    if (Buffer.byteLength(request.message.body, 'base64') > MAX_BODY_BYTES) return { refused: 'too large' };
    this.#store(request.message);
    return {};
  }

  #store(message: ToyMessage): void {
    const isDuplicate = this.settings.dedupes && this.#stored.some(({ id }) => id === message.id);
    if (!isDuplicate) this.#stored.push(message);
  }
}
