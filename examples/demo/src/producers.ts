import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboxEntry } from '@postcommit/core';
import type { PgOutboxStore } from '@postcommit/store-pg';
import type pg from 'pg';

export interface OrderChange {
  readonly orderId: string;
  readonly step: number;
}

/** What the world refuses until it is fixed. */
export const POISON_TOPIC = 'order.gift-wrapped';

const STEPS = ['order.placed', 'order.paid', 'order.shipped'];
const ROLLBACK_RATE = 0.1;
const PAUSE_MS = 40;
/** On a machine so slow that deliveries can't keep up, the story still has an end. */
const MAX_ORDERS_EACH = 250;

class CardDeclined extends Error {}

/** Places orders on several connections at once. An order is three transactions, each with its message. */
export class Producers {
  /** Ids that `enqueueWith` gave for messages whose transaction was then rolled back. */
  readonly rolledBack: string[] = [];
  readonly #pool: pg.Pool;
  readonly #store: PgOutboxStore;
  #isStopped = false;

  constructor(pool: pg.Pool, store: PgOutboxStore) {
    this.#pool = pool;
    this.#store = store;
  }

  /** Resolves when all have ended, after `stop`. */
  async run(producers: number): Promise<void> {
    await Promise.all(Array.from({ length: producers }, (_, producer) => this.#placeOrders(producer + 1)));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** One business transaction: the change and its message, both or neither. Gives the message's id. */
  async commit(change: OrderChange, entry: Pick<OutboxEntry, 'topic' | 'retry'>): Promise<string> {
    return this.#transaction(change, entry, () => {});
  }

  async #placeOrders(producer: number): Promise<void> {
    for (let number = 1; number <= MAX_ORDERS_EACH && !this.#isStopped; number++)
      await this.#placeOrder(`order-${producer}-${number}`);
  }

  /** The next step begins after the last one committed: that is what gives their messages an order. */
  async #placeOrder(orderId: string): Promise<void> {
    for (const [index, topic] of STEPS.entries()) {
      try {
        await this.#transaction({ orderId, step: index + 1 }, { topic }, (messageId) => {
          if (Math.random() >= ROLLBACK_RATE) return;
          this.rolledBack.push(messageId);
          throw new CardDeclined();
        });
      } catch (error) {
        if (error instanceof CardDeclined) return;
        throw error;
      }
      await sleep(PAUSE_MS);
    }
  }

  async #transaction(
    change: OrderChange,
    entry: Pick<OutboxEntry, 'topic' | 'retry'>,
    beforeCommit: (messageId: string) => void,
  ): Promise<string> {
    const client = await this.#pool.connect();
    try {
      await client.query('begin');
      const [messageId = ''] = await this.#store.enqueueWith(client, {
        ...entry,
        key: change.orderId,
        payload: change,
      });
      await client.query('insert into order_changes (order_id, step, message_id) values ($1, $2, $3)', [
        change.orderId,
        change.step,
        messageId,
      ]);
      beforeCommit(messageId);
      await client.query('commit');
      return messageId;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }
}
