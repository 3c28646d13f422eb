import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOn } from './listening.js';

/** The network between a publisher and its broker, as a TCP proxy. */
export interface Link {
  readonly host: string;
  readonly port: number;
  /** Ends every connection and refuses new ones, until `heal`. */
  cut(): Promise<void>;
  /** Lets nothing through in either direction, on old and new connections, until `heal`. */
  freeze(): void;
  /** Lets requests through, but no answers, on old and new connections, until `heal`. */
  holdAnswers(): void;
  /** The next request reaches the broker, but its answer does not come back: the connection is cut instead. */
  loseNextAnswer(): void;
  /** Lets everything through again. What was held back by `freeze` or `holdAnswers` arrives now. */
  heal(): Promise<void>;
  /** The connections that publishers have open now. */
  readonly connections: number;
  /** How often a publisher has sent something after an answer from the broker: an upper bound of round trips. */
  readonly roundTrips: number;
  close(): Promise<void>;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Opens a link on a free port of this host to a broker. */
export async function openLink(target: Address): Promise<Link> {
  const link = new TcpLink(target);
  await link.listen();
  return link;
}

class TcpLink implements Link {
  readonly host = '127.0.0.1';
  port = 0;
  readonly #wires: Wires;
  #server: Server | undefined;

  constructor(target: Address) {
    this.#wires = new Wires(target);
  }

  get connections(): number {
    return this.#wires.count;
  }

  get roundTrips(): number {
    return this.#wires.roundTrips;
  }

  async listen(port?: number): Promise<void> {
    const options = { pauseOnConnect: true, noDelay: true };
    const server = createServer(options, (client) => this.#wires.join(client));
    this.#server = server;
    this.port = await listenOn(server, port);
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = server && once(server, 'close');
    server?.close();
    this.#wires.destroy();
    await closed;
  }

  freeze(): void {
    this.#wires.hold('everything');
  }

  holdAnswers(): void {
    this.#wires.hold('answers');
  }

  loseNextAnswer(): void {
    this.#wires.losesNextAnswer = true;
  }

  async heal(): Promise<void> {
    this.#wires.losesNextAnswer = false;
    this.#wires.hold('nothing');
    if (!this.#server) await this.listen(this.port);
  }

  close(): Promise<void> {
    return this.cut();
  }
}

/** What does not get through. */
type Held = 'nothing' | 'answers' | 'everything';

/** A connection of the publisher, and the one to the broker that carries it on. */
interface Wire {
  readonly client: Socket;
  readonly broker: Socket;
  /** The publisher has sent something since the last answer. */
  awaitsAnswer: boolean;
  /** Its next answer is to be lost. */
  isDoomed: boolean;
}

/** All connections of a link. */
class Wires {
  roundTrips = 0;
  losesNextAnswer = false;
  readonly #target: Address;
  readonly #wires = new Set<Wire>();
  #held: Held = 'nothing';

  constructor(target: Address) {
    this.#target = target;
  }

  get count(): number {
    return this.#wires.size;
  }

  join(client: Socket): void {
    const broker = connect({ ...this.#target, noDelay: true });
    const wire: Wire = { client, broker, awaitsAnswer: false, isDoomed: false };
    this.#wires.add(wire);
    client.on('data', (chunk) => this.#request(wire, chunk));
    broker.on('data', (chunk) => this.#answer(wire, chunk));
    client.once('close', () => this.#wires.delete(wire));
    endTogether(client, broker);
    endTogether(broker, client);
    letThrough(wire, this.#held);
  }

  hold(held: Held): void {
    this.#held = held;
    for (const wire of this.#wires) letThrough(wire, held);
  }

  destroy(): void {
    for (const wire of this.#wires) destroy(wire);
  }

  #request(wire: Wire, chunk: Buffer): void {
    if (!wire.awaitsAnswer) this.roundTrips += 1;
    wire.awaitsAnswer = true;
    wire.isDoomed ||= this.losesNextAnswer;
    wire.broker.write(chunk);
  }

  #answer(wire: Wire, chunk: Buffer): void {
    if (wire.isDoomed && this.losesNextAnswer) {
      this.losesNextAnswer = false;
      destroy(wire);
      return;
    }
    wire.awaitsAnswer = false;
    wire.client.write(chunk);
  }
}

function letThrough({ client, broker }: Wire, held: Held): void {
  if (held === 'everything') client.pause();
  else client.resume();
  if (held === 'nothing') broker.resume();
  else broker.pause();
}

/** What was received before an orderly end is still passed on. */
function endTogether(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy());
  one.once('close', () => other.end());
}

function destroy({ client, broker }: Wire): void {
  client.destroy();
  broker.destroy();
}
