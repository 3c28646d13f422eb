import type { OutboxRow, OutboxTopic, PayloadOf, PublishContext } from '@postcommit/core';
import { nameToken, type OutboxHeaders } from '@postcommit/core/internal';

interface EventFields {
  /** The row's id, the same at every attempt. Use it as the idempotency key. */
  readonly id: string;
  readonly headers: OutboxHeaders;
  /** 1 at the first attempt. */
  readonly attempt: number;
  readonly key?: string;
  readonly createdAt: Date;
  /** Aborts when the publish takes longer than `publishTimeoutMs` or the claim is lost. Pass it to what you call. */
  readonly signal: AbortSignal;
}

/**
 * An outbox row as the listeners receive it. They all share one object: do not modify it. The type is a union of the
 * declared topics, so `event.topic` narrows `event.payload`.
 */
export type OutboxEvent<Topic extends OutboxTopic = OutboxTopic> = Topic extends string
  ? { readonly topic: Topic; readonly payload: PayloadOf<Topic> } & EventFields
  : never;

/** Not a plain class, because the type is a union. `nameToken` names it, because a bundler may rename classes. */
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

  /** A getter, because the signal is created on first read and most listeners never use it. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }
};
