import { OnEvent, OutboxEvent } from '@postcommit/publisher-events';
import { Pool } from 'pg';

/** A read model: how many orders each customer has paid. */
export class OrderBoard {
  static readonly inject = [Pool] as const;
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Twice is the same as once: the row's id is the key, so a repeated event changes nothing. */
  @OnEvent(OutboxEvent, { name: 'order-board', topic: 'order.*' })
  async on({ id, topic, attempt, payload }: OutboxEvent): Promise<void> {
    console.log(`order-board  ${topic} try ${attempt}`);
    const text = 'insert into order_board values ($1, $2) on conflict do nothing';
    await this.#pool.query(text, [id, (payload as { customer: string }).customer]);
  }
}
