import { endsWithin, systemClock } from '@postcommit/core/internal';
import { notConnected } from './errors.js';
import { Gate } from './gate.js';
import type { RabbitmqClient } from './rabbitmq-client.js';

/** How long a closing handshake may take. */
const CLOSE_LIMIT_MS = 1_000;

/** A connection of ours, or of the application. */
export interface ConnectionOwnership {
  readonly client: RabbitmqClient;
  /** Destroys the socket. Absent if the connection belongs to the application. */
  readonly destroy?: (() => void) | undefined;
}

/** An open connection: knows whether it was lost, and whether the broker blocks its publishers. */
export class Connection {
  readonly client: RabbitmqClient;
  readonly #destroy: (() => void) | undefined;
  /** Shut while the broker blocks. Open again when the connection has ended, so that nobody waits forever. */
  readonly unblocked = new Gate();
  #blockedBecause: string | undefined;
  #isLost = false;
  #lostBecause: unknown;
  #onLost: () => void = () => {};

  constructor({ client, destroy }: ConnectionOwnership) {
    this.client = client;
    this.#destroy = destroy;
    client.on('blocked', this.#blocked);
    client.on('unblocked', this.#released);
    client.on('close', this.#closed);
    // Without a listener, an error of our own connection would end the process. The application has one for its own.
    if (destroy) client.on('error', this.#failed);
  }

  get isOwn(): boolean {
    return this.#destroy !== undefined;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get lostBecause(): unknown {
    return this.#lostBecause;
  }

  /** Why the broker takes no messages, or took none when the connection was lost; undefined if it does. */
  get blockedBecause(): string | undefined {
    return this.#blockedBecause;
  }

  whenLost(onLost: () => void): void {
    this.#onLost = onLost;
    if (this.#isLost) onLost();
  }

  /** Drops what has not been sent. A connection of the application stays as it is. */
  destroy(): void {
    if (!this.#destroy) return;
    this.#destroy();
    // For a `connect` that ignores its signal; the others have closed by now.
    this.client.close().catch(() => {});
  }

  async close(): Promise<void> {
    if (this.#destroy) {
      await quietly(this.client.close());
      this.#destroy();
    }
    this.#stopListening();
  }

  readonly #blocked = (reason: unknown): void => {
    this.#blockedBecause = String(reason);
    this.unblocked.shut();
  };

  readonly #released = (): void => {
    this.#blockedBecause = undefined;
    this.unblocked.open();
  };

  readonly #failed = (error: unknown): void => {
    this.#lostBecause ??= error;
  };

  readonly #closed = (error?: unknown): void => {
    this.#isLost = true;
    this.#lostBecause ??= error;
    this.unblocked.open();
    this.#onLost();
  };

  #stopListening(): void {
    this.client.removeListener('blocked', this.#blocked);
    this.client.removeListener('unblocked', this.#released);
    this.client.removeListener('close', this.#closed);
    // The listener of 'error' stays: a destroyed socket may still report one.
  }
}

/** Waits for a closing handshake. amqplib leaves it pending where the connection is lost meanwhile. */
export async function quietly(closing: Promise<unknown>): Promise<void> {
  try {
    await endsWithin(CLOSE_LIMIT_MS, closing, systemClock);
  } catch {
    // It was closed already.
  }
}

/** Ends a step of connecting that takes too long, and lets it clean up. */
export async function withinLimit<T>(limitMs: number, step: Promise<T>, giveUp: () => void): Promise<T> {
  if (await endsWithin(limitMs, step, systemClock)) return step;
  giveUp();
  step.catch(() => {});
  throw notConnected(`RabbitMQ did not answer within ${limitMs} ms`, undefined);
}
