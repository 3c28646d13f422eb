import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Certificate } from './certificate.js';
import { type KafkaRequestFrame, readRequest, splitFrames } from './kafka-frames.js';

const HOST = '127.0.0.1';

/** Answers some requests instead of the broker. */
export interface RequestGuard {
  /** Returns undefined for what the broker is to answer. */
  answer(request: KafkaRequestFrame): Buffer | undefined;
}

/**
 * Stands before a broker, because its port is not that of the link: a Kafka client connects to the addresses that the
 * brokers advertise, so the port in their answers has to become that of the link. It also reads the requests, and asks
 * for a login, which the mock cluster can't.
 */
export class KafkaGate {
  /** The port that clients are to connect to. */
  linkPort = 0;
  readonly #server: Server;
  readonly #brokerPort: number;
  readonly #guard: RequestGuard | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #requests: KafkaRequestFrame[] = [];

  private constructor(brokerPort: number, guard: RequestGuard | undefined, tls: Certificate | undefined) {
    const join = (client: Socket): void => this.#join(client, connect(brokerPort, HOST));
    this.#brokerPort = brokerPort;
    this.#guard = guard;
    this.#server = tls ? createTlsServer(tls, join) : createServer(join);
  }

  static async open(broker: string | undefined, guard?: RequestGuard, tls?: Certificate): Promise<KafkaGate> {
    const gate = new KafkaGate(Number(broker?.split(':')[1]), guard, tls);
    gate.#server.listen(0, HOST);
    await once(gate.#server, 'listening');
    gate.linkPort = gate.address.port;
    return gate;
  }

  get address(): { host: string; port: number } {
    return { host: HOST, port: (this.#server.address() as AddressInfo).port };
  }

  /** What clients have sent so far, in the order of its arrival. */
  get requests(): readonly KafkaRequestFrame[] {
    return this.#requests;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket, broker: Socket): void {
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    splitFrames(client, (frame) => {
      const request = readRequest(frame);
      this.#requests.push(request);
      const answer = this.#guard?.answer(request);
      if (answer) client.write(answer);
      else broker.write(frame);
    });
    splitFrames(broker, (frame) => client.write(this.#rewritten(frame)));
  }

  #rewritten(frame: Buffer): Buffer {
    const advertised = Buffer.from(`${HOST}....`);
    advertised.writeInt32BE(this.#brokerPort, HOST.length);
    for (let at = frame.indexOf(advertised); at !== -1; at = frame.indexOf(advertised, at + 1))
      frame.writeInt32BE(this.linkPort, at + HOST.length);
    return frame;
  }
}
