import { type OutboxEntry, OutboxError } from '@postcommit/core';
import { eventTypeOf } from './outbox-event.js';
import type { AnyStore } from './outbox-module-options.js';
import type { FrozenRetry } from './resolve-options.js';

/** An open transaction. A Prisma client, which would write outside of it, is excluded by its `$connect`. */
export type TransactionHandle = object & { readonly $connect?: never };

/** What is not part of the event itself; see `OutboxEntry`. */
export type EmitOptions = Pick<OutboxEntry, 'id' | 'key' | 'headers' | 'availableAt' | 'retry'>;

/**
 * Stores events in the caller's transaction: they are handled if and only if it commits. An event is an instance of
 * a class with a static `eventType`, or a plain entry with `topic` and `payload`.
 *
 * @example
 * await this.prisma.$transaction(async (tx) => {
 *   const order = await tx.order.create({ data });
 *   await this.outbox.emit(tx, new OrderCreatedEvent(order.id, data.total), { key: order.id });
 * });
 */
export class OutboxEmitter<Tx extends object = TransactionHandle> {
  readonly #store: AnyStore;
  readonly #retry: FrozenRetry;

  constructor(store: AnyStore, retry: FrozenRetry) {
    this.#store = store;
    this.#retry = retry;
  }

  /**
   * Stores an event and returns its id, which stays the same at every attempt.
   *
   * @throws OutboxError `INVALID_ENTRY` for a class without `eventType`; otherwise as `enqueueWith` of the store.
   */
  async emit(tx: Tx, event: object, options: EmitOptions = {}): Promise<string> {
    const [id = ''] = await this.#store.enqueueWith(tx, [this.#toEntry(event, options)]);
    return id;
  }

  /** Stores several events in one statement, all or none, and returns their ids in order. */
  async emitMany(
    tx: Tx,
    events: readonly object[],
    options: Omit<EmitOptions, 'id'> = {},
  ): Promise<string[]> {
    return this.#store.enqueueWith(
      tx,
      events.map((event) => this.#toEntry(event, options)),
    );
  }

  /** Stores the retry policy with the event, so that a later deployment does not change it. */
  #toEntry(event: object, options: EmitOptions): OutboxEntry {
    const entry: OutboxEntry = { ...entryOf(event), ...options };
    const { maxAttempts = this.#retry.maxAttempts, backoff = this.#retry.backoff } = entry.retry ?? {};
    return { ...entry, retry: { ...entry.retry, maxAttempts, backoff } };
  }
}

function entryOf(event: object): OutboxEntry {
  if (typeof event !== 'object' || event === null)
    throw new OutboxError(
      'INVALID_ENTRY',
      `emit needs an event, got ${event === null ? 'null' : typeof event}`,
    );
  const topic = eventTypeOf(event);
  if (topic !== undefined) return { topic, payload: event } as OutboxEntry;
  const prototype: unknown = Object.getPrototypeOf(event);
  if (prototype === Object.prototype || prototype === null) return event as OutboxEntry;
  throw new OutboxError(
    'INVALID_ENTRY',
    `the class ${event.constructor.name} has no static eventType; add one, or emit { topic, payload }`,
  );
}
