/** A listener of an event of amqplib. */
type Listener = (...values: unknown[]) => void;

interface Emitter {
  on(event: string, listener: Listener): unknown;
  prependListener(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
}

/** The properties of a message, as amqplib takes them. */
export interface MessageProperties {
  readonly persistent: true;
  readonly mandatory: true;
  readonly messageId: string;
  /** Absent if the topic is longer than 255 bytes. The header `outbox-topic` always has it. */
  readonly type?: string;
  /** In seconds. */
  readonly timestamp: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A channel of amqplib that confirms each message. */
export interface RabbitmqConfirmChannel extends Emitter {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: MessageProperties,
    callback: (error: unknown) => void,
  ): boolean;
  close(): Promise<void>;
}

/** A channel of amqplib, to look at exchanges and to declare them. */
export interface RabbitmqChannel extends Emitter {
  checkExchange(exchange: string): Promise<unknown>;
  assertExchange(exchange: string, type: string, options: { readonly durable: true }): Promise<unknown>;
  assertQueue(
    queue: string,
    options: { readonly durable: true; readonly arguments: Readonly<Record<string, string>> },
  ): Promise<unknown>;
  bindQueue(queue: string, exchange: string, pattern: string): Promise<unknown>;
  close(): Promise<void>;
}

/** What `connect` of amqplib returns. Structural, so that its version does not matter. */
export interface RabbitmqClient extends Emitter {
  createConfirmChannel(): Promise<RabbitmqConfirmChannel>;
  createChannel(): Promise<RabbitmqChannel>;
  close(): Promise<void>;
  readonly connection?: RabbitmqConnectionFacts;
}

/** What the broker and the client have agreed on. Absent where amqplib wraps its connection. */
export interface RabbitmqConnectionFacts {
  readonly serverProperties?: Readonly<Record<string, unknown>>;
  /** In seconds; 0 is none. */
  readonly heartbeat?: number;
  readonly frameMax?: number;
}

/** The socket options that this publisher needs, for `connect` of amqplib. */
export interface RabbitmqSocketOptions {
  readonly noDelay: true;
  /** Destroys the socket, with what has not been sent yet. */
  readonly signal: AbortSignal;
}
