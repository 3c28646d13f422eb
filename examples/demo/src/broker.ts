import { setTimeout as sleep } from 'node:timers/promises';
import { type OutboxRow, TransientError } from '@postcommit/core';
import type pg from 'pg';
import type { OrderChange } from './producers.js';

const LATENCY_MS = 5;

/** The world outside, played by two tables: it can be down, refuses one topic until it is fixed, and never forgets. */
export class Broker {
  /** What is said when it goes down. */
  readonly outage: string = 'The broker goes down: publishes fail and are retried, with growing waits.';
  /** Whether the outage costs tries. */
  readonly costsTries: boolean = true;
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async setDown(isDown: boolean): Promise<void> {
    await this.#pool.query('update broker set is_down = $1', [isDown]);
  }

  /** From now on it understands the topic that it refused. */
  async accept(): Promise<void> {
    await this.#pool.query('update broker set refused_topic = null');
  }

  /** Throws if it is down, or does not understand the topic. */
  async check(row: OutboxRow): Promise<void> {
    const { rows } = await this.#pool.query<{ is_down: boolean; refused_topic: string | null }>(
      'select is_down, refused_topic from broker',
    );
    if (rows[0]?.is_down) throw new TransientError('503 broker is down');
    if (rows[0]?.refused_topic === row.topic) throw new Error(`422 unknown topic ${row.topic}`);
  }

  async deliver(row: OutboxRow, dispatcher: string): Promise<void> {
    await sleep(LATENCY_MS);
    await this.check(row);
    await this.note(row.id, row.payload as OrderChange, dispatcher, row.retakes > 0);
  }

  /** Writes into the ledger that a message has arrived. */
  async note(
    id: string,
    { orderId, step }: OrderChange,
    dispatcher: string,
    isTakenOver: boolean,
  ): Promise<void> {
    await this.#pool.query(
      'insert into deliveries (message_id, order_id, step, dispatcher, is_taken_over) values ($1, $2, $3, $4, $5)',
      [id, orderId, step, dispatcher, isTakenOver],
    );
  }
}
