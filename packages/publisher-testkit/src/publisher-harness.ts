import type { MessageFormat, OutboxPublisher, OutboxRow } from '@postcommit/core';
import type { Link } from './link.js';

/** A message as it arrived at the broker. */
export interface ReceivedMessage {
  /** The idempotency key, from where consumers of this broker look for it: the row's id. */
  readonly id: string;
  /** The broker's own field for the id, such as AMQP's message-id; absent if it has none. */
  readonly nativeId?: string | undefined;
  /** The topic, subject, queue or path where it arrived. */
  readonly destination: string;
  /** The broker's partition key, group or ordering key, or the header with the key where it has none. */
  readonly key?: string | undefined;
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** An empty destination, and a publisher's way to it. Opened anew for each test. */
export interface PublisherFixture {
  /**
   * Creates a publisher that has not started. It connects through `link`, with time-outs of 1 to 2 seconds, and
   * passes `format` on to the publisher's options.
   */
  createPublisher(format?: MessageFormat): OutboxPublisher;
  /**
   * Returns all messages that have arrived so far, in the broker's order. Does not go through `link`: it is asked while
   * the link is cut, too.
   */
  received(): Promise<readonly ReceivedMessage[]>;
  /** A topic that takes messages. Rows of this topic must arrive in `received`. */
  readonly topic: string;
  /** Between the publisher and the broker. Use `openLink`. */
  readonly link: Link;
  /** A topic that the broker has no destination for. Absent if the broker can't say so. */
  readonly unroutableTopic?: string | undefined;
  /** A topic whose messages the broker refuses one by one, such as a queue that is full. Absent if there is no such thing. */
  readonly refusingTopic?: string | undefined;
  /** Rows that the broker can't take, each with the reason. The publisher must refuse them without sending anything. */
  readonly impossibleRows?: (template: OutboxRow) => Readonly<Record<string, OutboxRow>>;
  /** The largest body that arrives. A larger one must be permanent. Absent without a limit below 1 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Texts of the connection options that must never appear in an error: passwords, keys, tokens. */
  readonly secrets: readonly string[];
  /** Creates a publisher whose credentials the broker refuses. Absent without credentials. */
  readonly withWrongCredentials?: (() => OutboxPublisher) | undefined;
  /** Creates a publisher on a client of the application, and says whether that client is still open. */
  readonly withBorrowedClient?:
    | (() => Promise<{ readonly publisher: OutboxPublisher; isOpen(): boolean; close(): Promise<void> }>)
    | undefined;
  /** Creates publishers on a broker whose settings weaken the promise, by what is wrong. `check` must report each. */
  readonly untruthful?: (() => Promise<Readonly<Record<string, OutboxPublisher>>>) | undefined;
  /** Kills the broker (SIGKILL) and starts it again on the same port and data. Absent if it can't be killed here. */
  readonly restartBroker?: (() => Promise<void>) | undefined;
  close(): Promise<void>;
}

/** What a broker does by itself. */
export interface PublisherTraits {
  /** A message with an id that has arrived before is dropped by the broker. */
  readonly dedupes: boolean;
  /** Messages with the same key arrive in the order in which they were published. */
  readonly ordersByKey: boolean;
  /** Header names keep their case. HTTP and NATS, for example, compare them without case. */
  readonly keepsHeaderCase: boolean;
}

/** How the kit gets at a publisher. */
export interface PublisherHarness {
  readonly traits: PublisherTraits;
  /** How long a call may take, and a message to arrive, on a busy machine. @default 10_000 */
  readonly patienceMs?: number;
  open(): Promise<PublisherFixture>;
  /** Behaviours or groups that the broker can't support, each with the reason. */
  readonly skip?: ReadonlyArray<{ readonly name: string; readonly reason: string }>;
}
