import {
  nameToken,
  type OutboxHeaders,
  type OutboxRow,
  type OutboxTopic,
  type PayloadOf,
  type PublishContext,
} from '@postcommit/core';

interface EventFields {
  /** The row's id, the same at every try: the idempotency key. */
  readonly id: string;
  readonly headers: OutboxHeaders;
  /** 1 at the first try. */
  readonly attempt: number;
  readonly key?: string;
  readonly createdAt: Date;
  /** Aborts when the publish takes longer than `publishTimeoutMs` or the claim on the row is lost. Hand it on. */
  readonly signal: AbortSignal;
}

/**
 * An outbox row on its way to the listeners, who all get the same object: do not change it. One member for each
 * declared topic, so that `event.topic` discriminates `event.payload`.
 */
export type OutboxEvent<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & EventFields
  : never;

/** A class as a value, a union as a type: hence no plain class. It has no name of its own, which a bundler would change. */
export const OutboxEvent: new (row: OutboxRow, context: PublishContext) => OutboxEvent = class
  implements EventFields
{
  static {
    nameToken(this, '@postcommit/publisher-events/OutboxEvent');
  }

  readonly id: string;
  readonly topic: OutboxTopic;
  readonly payload: PayloadOf<OutboxTopic>;
  readonly headers: OutboxHeaders;
  readonly attempt: number;
  declare readonly key?: string;
  readonly createdAt: Date;
  readonly #context: PublishContext;

  constructor(row: OutboxRow, context: PublishContext) {
    this.id = row.id;
    this.topic = row.topic;
    this.payload = row.payload;
    this.headers = row.headers;
    this.attempt = context.attempt;
    if (row.key !== undefined) this.key = row.key;
    this.createdAt = row.createdAt;
    this.#context = context;
  }

  /** Asked for on demand: most listeners never look at it, and it is made when first read. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }
};
