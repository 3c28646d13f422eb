import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const LENGTH_BYTES = 4;

/**
 * A broker as it is seen through a link: a Kafka client connects to the addresses that the brokers advertise, so the
 * port of the broker in their answers has to become the port of the link.
 */
export class RewrittenPorts {
  readonly host = '127.0.0.1';
  /** The port that clients are to connect to. */
  linkPort = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(brokerPort: number) {
    this.#server = createServer((client) => this.#join(client, connect(brokerPort, this.host), brokerPort));
  }

  static async open(brokerPort: number): Promise<RewrittenPorts> {
    const opened = new RewrittenPorts(brokerPort);
    opened.#server.listen(0, opened.host);
    await once(opened.#server, 'listening');
    return opened;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket, broker: Socket, brokerPort: number): void {
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
    client.pipe(broker);
    let rest = Buffer.alloc(0);
    broker.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let bytes = frameBytes(rest); bytes <= rest.length; bytes = frameBytes(rest)) {
        client.write(this.#rewritten(Buffer.from(rest.subarray(0, bytes)), brokerPort));
        rest = rest.subarray(bytes);
      }
    });
  }

  #rewritten(frame: Buffer, brokerPort: number): Buffer {
    const advertised = Buffer.from(`${this.host}....`);
    advertised.writeInt32BE(brokerPort, this.host.length);
    for (let at = frame.indexOf(advertised); at !== -1; at = frame.indexOf(advertised, at + 1))
      frame.writeInt32BE(this.linkPort, at + this.host.length);
    return frame;
  }
}

/** The size of the first answer; more than there is if it has not arrived completely. */
function frameBytes(received: Buffer): number {
  if (received.length < LENGTH_BYTES) return Number.POSITIVE_INFINITY;
  return LENGTH_BYTES + received.readInt32BE(0);
}
