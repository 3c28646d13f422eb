import { setTimeout as pause } from 'node:timers/promises';
import type { TransactionalOutboxStore } from '@postcommit/core';
import { fingerprint } from './fingerprint.js';
import type { Ledger } from './ledger.js';
import type { Subject } from './subject.js';

export type Poison = number | 'always' | 'permanent' | 'kills' | 'cuts';

export interface Order {
  readonly id: string;
  readonly key?: string | undefined;
  /** Added to the payload. */
  readonly body?: unknown;
  /**
   * The publisher fails this message that many times; the others fail forever, and `kills` also kills the process; `cuts` lets
   * the broker cut every connection.
   */
  readonly fails?: Poison;
}

/** Where a process can be asked to stop. */
export type Reach = (point: string) => Promise<void>;

export type Produced = 'committed' | 'rolled back' | 'unknown';

const RETRY_PAUSE_MS = 50;
const LOOKUP_TRIES = 400;

/** Writes orders, each with its message in the same transaction, and reports to the ledger before and after. */
export class Producer {
  readonly #name: string;
  readonly #subject: Subject;
  readonly #store: TransactionalOutboxStore<never>;
  readonly #ledger: Ledger;
  readonly #reach: Reach;
  /** Why the last transaction failed. */
  failure: unknown;
  #tries = 0;

  constructor(
    name: string,
    subject: Subject,
    store: TransactionalOutboxStore<never>,
    ledger: Ledger,
    reach: Reach = async () => {},
  ) {
    this.#name = name;
    this.#subject = subject;
    this.#store = store;
    this.#ledger = ledger;
    this.#reach = reach;
  }

  /** All in one transaction. An unknown result is looked up, as a careful application does. */
  async produce(...orders: readonly Order[]): Promise<Produced> {
    await this.#ledger.intend(
      orders.map((order) => ({
        orderId: order.id,
        key: order.key ?? null,
        producer: this.#name,
        transaction: orders[0]?.id ?? '',
        fingerprint: fingerprint(payloadOf(order)),
      })),
    );
    let isCommitSent = false;
    try {
      await this.#subject.transaction(this.#store, async (tx) => {
        await tx.query('insert into orders (id, key) select * from unnest($1::text[], $2::text[])', [
          orders.map(({ id }) => id),
          orders.map(({ key }) => key ?? null),
        ]);
        await tx.enqueue(
          orders.map((order) => ({ topic: 'order.placed', key: order.key, payload: payloadOf(order) })),
        );
        await this.#reach('before the business COMMIT');
        isCommitSent = true;
      });
    } catch (error) {
      this.failure = error;
      return isCommitSent ? this.#lookUp(orders) : 'rolled back';
    }
    await this.#reach('after the business COMMIT');
    await this.#ledger.committed(orders.map(({ id }) => ({ orderId: id, how: 'answered' })));
    return 'committed';
  }

  /** Until so many are committed, one transaction each, keys in turn; a fault costs time, not messages. */
  async produceMany(count: number, keys: readonly (string | undefined)[] = [undefined]): Promise<void> {
    for (let done = 0; done < count; ) {
      const key = keys[done % keys.length];
      const result = await this.produce({ id: `${this.#name}-${this.#tries++}`, key });
      if (result === 'committed') done += 1;
      else await pause(RETRY_PAUSE_MS);
    }
  }

  async #lookUp(orders: readonly Order[]): Promise<Produced> {
    const [first] = orders;
    for (let tries = 0; tries < LOOKUP_TRIES; tries++) {
      try {
        const found = await this.#subject.query('select id from orders where id = $1', [first?.id]);
        if (found.length === 0) return 'unknown';
        await this.#ledger.committed(orders.map(({ id }) => ({ orderId: id, how: 'found' })));
        return 'committed';
      } catch {
        await pause(RETRY_PAUSE_MS);
      }
    }
    return 'unknown';
  }
}

export function payloadOf({ id, body, fails }: Order): object {
  return { order: id, ...(body !== undefined && { body }), ...(fails !== undefined && { fails }) };
}
