import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Link, openLink } from '../src/index.js';
import { quietTime, until } from '../src/waiting.js';

/** Answers each chunk with the same bytes, and remembers it. */
class EchoServer {
  readonly received: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        this.received.push(chunk.toString());
        socket.write(chunk);
      });
    });
  }

  async open(): Promise<{ host: string; port: number }> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
  }

  close(): void {
    this.#server.close();
  }
}

/** A connection through the link. */
class Client {
  readonly socket: Socket;
  answers = '';
  isClosed = false;

  constructor({ host, port }: Link) {
    this.socket = connect({ host, port, noDelay: true });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
    this.socket.on('data', (chunk) => {
      this.answers += chunk.toString();
    });
  }

  send(text: string): void {
    this.socket.write(text);
  }

  answered(text: string): Promise<unknown> {
    return until(
      () => this.answers === text || undefined,
      () => `the answers are ${JSON.stringify(this.answers)}`,
      5_000,
    );
  }

  closed(): Promise<unknown> {
    return until(
      () => this.isClosed || undefined,
      () => 'the connection is open',
      5_000,
    );
  }
}

describe('the link between a publisher and its broker', () => {
  let server: EchoServer;
  let link: Link;

  beforeEach(async () => {
    server = new EchoServer();
    link = await openLink(await server.open());
  });
  afterEach(async () => {
    await link.close();
    server.close();
  });

  function received(text: string): Promise<unknown> {
    return until(
      () => server.received.join('') === text || undefined,
      () => `the broker received ${JSON.stringify(server.received)}`,
      5_000,
    );
  }

  it('passes on what is sent and answered', async () => {
    const client = new Client(link);
    client.send('one');
    await client.answered('one');
    expect(link.connections).toBe(1);
  });

  it('cut ends connections and refuses new ones until heal, on the same port', async () => {
    const before = new Client(link);
    before.send('one');
    await before.answered('one');
    const { port } = link;
    await link.cut();
    await before.closed();
    await new Client(link).closed();
    await link.heal();
    expect(link.port).toBe(port);
    const after = new Client(link);
    after.send('two');
    await after.answered('two');
    expect(link.connections).toBe(1);
  });

  it('cut loses what freeze has held back', async () => {
    const client = new Client(link);
    link.freeze();
    client.send('lost');
    await quietTime();
    await link.cut();
    await link.heal();
    new Client(link).send('later');
    await received('later');
  });

  it('freeze holds back both directions on old and new connections until heal', async () => {
    const old = new Client(link);
    old.send('one');
    await old.answered('one');
    link.freeze();
    old.send('two');
    const fresh = new Client(link);
    fresh.send('three');
    await quietTime();
    expect(server.received).toEqual(['one']);
    expect(fresh.isClosed).toBe(false);
    await link.heal();
    await old.answered('onetwo');
    await fresh.answered('three');
  });

  it('holdAnswers lets requests through on old and new connections, but no answers until heal', async () => {
    const old = new Client(link);
    old.send('one');
    await old.answered('one');
    link.holdAnswers();
    old.send('two');
    await received('onetwo');
    const fresh = new Client(link);
    fresh.send('three');
    await received('onetwothree');
    await quietTime();
    expect([old.answers, fresh.answers]).toEqual(['one', '']);
    await link.heal();
    await old.answered('onetwo');
    await fresh.answered('three');
  });

  it('loseNextAnswer lets one request through and cuts its connection instead of the answer', async () => {
    const client = new Client(link);
    client.send('one');
    await client.answered('one');
    link.loseNextAnswer();
    client.send('two');
    await client.closed();
    expect(client.answers).toBe('one');
    expect(server.received.join('')).toBe('onetwo');
    const next = new Client(link);
    next.send('three');
    await next.answered('three');
  });

  it('heal forgets an answer that was to be lost', async () => {
    link.loseNextAnswer();
    await link.heal();
    const client = new Client(link);
    client.send('one');
    await client.answered('one');
  });

  it('counts round trips: many requests before an answer are one', async () => {
    const client = new Client(link);
    link.holdAnswers();
    client.send('one');
    await received('one');
    client.send('two');
    await received('onetwo');
    expect(link.roundTrips).toBe(1);
    await link.heal();
    await client.answered('onetwo');
    client.send('three');
    await client.answered('onetwothree');
    expect(link.roundTrips).toBe(2);
  });

  it('forgets a connection that its owner has closed, after what was sent on it has arrived', async () => {
    const client = new Client(link);
    client.socket.end('last words');
    await received('last words');
    await until(
      () => link.connections === 0 || undefined,
      () => `${link.connections} connections`,
      5_000,
    );
  });
});
