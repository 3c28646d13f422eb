import { type Connection, quietly } from './connection.js';
import { type Closing, isClosedError, replyCodeOf } from './errors.js';
import { Gate } from './gate.js';
import type { Message } from './message.js';
import type { RabbitmqConfirmChannel } from './rabbitmq-client.js';

/** What the broker said. `closed`: nothing, before the channel was closed. */
export type Answer = 'confirmed' | 'refused' | 'unroutable' | 'closed';

/** What amqplib asks for. Its table of headers is smaller, so only a broker that allows less needs a look. */
const USUAL_FRAME_BYTES = 131_072;
/** More than the other properties of a message take. */
const OTHER_PROPERTIES_BYTES = 1_200;

interface InFlight {
  readonly message: Message;
  readonly answered: (answer: Answer) => void;
  wasReturned: boolean;
}

interface Returned {
  readonly fields: { readonly routingKey: string };
  readonly properties: { readonly messageId?: unknown };
}

/** A channel on which every message is confirmed, and a message that came back is tied to the one that was sent. */
export class ConfirmedChannel {
  readonly connection: Connection;
  readonly #channel: RabbitmqConfirmChannel;
  readonly #exchange: string;
  readonly #inFlight = new Set<InFlight>();
  /** Shut while the socket is slower than the rows. Open again when the channel has closed. */
  readonly #drained = new Gate();
  #closing: Closing | undefined;
  #error: unknown;

  constructor(channel: RabbitmqConfirmChannel, connection: Connection, exchange: string) {
    this.connection = connection;
    this.#channel = channel;
    this.#exchange = exchange;
    channel.on('return', (message) => this.#returned(message as Returned));
    channel.on('drain', () => this.#drained.open());
    channel.on('error', (error) => {
      this.#error = error;
    });
    // First of all listeners: amqplib's own one fails what is unconfirmed, which must know by then that it is closed.
    channel.prependListener('close', () => this.#closed());
  }

  /** Why it was closed; undefined while it is open. */
  get closing(): Closing | undefined {
    return this.#closing;
  }

  whenClosed(onClosed: () => void): void {
    this.#channel.on('close', onClosed);
  }

  /** Whether a message can be sent now: neither the socket nor the broker holds it up. */
  get isWritable(): boolean {
    return this.#drained.isOpen && this.connection.unblocked.isOpen;
  }

  /** Resolves when more can be sent, or the channel has closed. */
  async writable(): Promise<void> {
    while (!this.isWritable && !this.#closing) {
      await this.#drained.pass();
      await this.connection.unblocked.pass();
    }
  }

  /**
   * Calls `answered` once. Throws only for a message that can't be encoded, before anything of it is sent.
   */
  send(message: Message, answered: (answer: Answer) => void): void {
    const inFlight: InFlight = { message, answered, wasReturned: false };
    try {
      const { routingKey, body, properties } = message;
      this.#assertFits(properties.headers);
      const onConfirm = (error: unknown): void => this.#answer(inFlight, error);
      if (!this.#channel.publish(this.#exchange, routingKey, body, properties, onConfirm))
        this.#drained.shut();
      this.#inFlight.add(inFlight);
    } catch (error) {
      if (!isClosedError(error)) throw error;
      this.#closed();
      answered('closed');
    }
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    await quietly(this.#channel.close());
  }

  /** The broker would close the connection, at the cost of everything that is on the way. */
  #assertFits(headers: Readonly<Record<string, string>>): void {
    const frameMax = this.connection.client.connection?.frameMax ?? 0;
    if (frameMax === 0 || frameMax >= USUAL_FRAME_BYTES) return;
    const bytes = headerBytes(headers);
    if (bytes + OTHER_PROPERTIES_BYTES > frameMax) {
      throw new RangeError(
        `${bytes} bytes of headers are too many for the broker's frame_max of ${frameMax}`,
      );
    }
  }

  #answer(inFlight: InFlight, error: unknown): void {
    this.#inFlight.delete(inFlight);
    inFlight.answered(this.#answerOf(inFlight, error));
  }

  #answerOf({ wasReturned }: InFlight, error: unknown): Answer {
    if (wasReturned) return 'unroutable';
    if (error && this.#closing) return 'closed';
    return error ? 'refused' : 'confirmed';
  }

  /**
   * The broker returns a message before it confirms it. It does not say which one, so all of this id and routing key
   * that are unconfirmed count: the same id twice is the same row, and sending it again is safe.
   */
  #returned({ fields, properties }: Returned): void {
    for (const inFlight of this.#inFlight) {
      const { id, routingKey } = inFlight.message;
      if (id === properties.messageId && routingKey === fields.routingKey) inFlight.wasReturned = true;
    }
  }

  #closed(): void {
    const { lostBecause, blockedBecause } = this.connection;
    this.#closing ??= { code: replyCodeOf(this.#error), cause: this.#error ?? lostBecause, blockedBecause };
    this.#drained.open();
  }
}

/** Of a table in AMQP: the length of the name in a byte, a type, and the length of the value in four. */
function headerBytes(headers: Readonly<Record<string, string>>): number {
  const sizes = Object.entries(headers).map(
    ([name, value]) => 6 + Buffer.byteLength(name) + Buffer.byteLength(value),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
