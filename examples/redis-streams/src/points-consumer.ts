import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessedMessages } from '@postcommit/core';
import { inTransaction } from '@postcommit/store-pg';
import type { createClient } from '@redis/client';
import type pg from 'pg';

const GROUP = 'points';
const CONSUMER = 'points-1';
/** Nobody works on an entry for that long: in production, minutes. */
const IDLE_MS = 200;
const BLOCK_MS = 200;

type Redis = ReturnType<typeof createClient>;
type Fields = Record<string, string>;

/** Credits the points of each order once, however often its entry is delivered. */
export class PointsConsumer {
  readonly #redis: Redis;
  readonly #pool: pg.Pool;
  readonly #processed: ProcessedMessages<pg.PoolClient>;
  readonly #stream: string;
  #losesAcknowledgement = true;

  constructor(redis: Redis, pool: pg.Pool, processed: ProcessedMessages<pg.PoolClient>, stream: string) {
    this.#redis = redis;
    this.#pool = pool;
    this.#processed = processed;
    this.#stream = stream;
  }

  /** From the first entry on: `0`. Only new ones would be `$`. */
  async createGroup(): Promise<void> {
    await this.#redis.xGroupCreate(this.#stream, GROUP, '0', { MKSTREAM: true });
  }

  /** Resolves after this many deliveries that were handled. */
  async run(deliveries: number): Promise<void> {
    while (deliveries > 0) {
      for (const [id, fields] of [...(await this.#abandoned()), ...(await this.#unread())])
        if (await this.#settle(id, fields)) deliveries -= 1;
    }
  }

  /** Entries that a consumer has read, perhaps this one, and not acknowledged: it failed, or is gone. */
  async #abandoned(): Promise<[string, Fields][]> {
    const options = { COUNT: 10 };
    const { messages } = await this.#redis.xAutoClaim(this.#stream, GROUP, CONSUMER, IDLE_MS, '0', options);
    return messages.flatMap((entry) => (entry ? [[entry.id, entry.message]] : []));
  }

  async #unread(): Promise<[string, Fields][]> {
    const options = { COUNT: 10, BLOCK: BLOCK_MS };
    const from = { key: this.#stream, id: '>' };
    const streams = (await this.#redis.xReadGroup(GROUP, CONSUMER, from, options)) ?? [];
    return streams.flatMap(({ messages }) => messages.map(({ id, message }) => [id, message]));
  }

  /** Acknowledges after the commit. What fails stays with this consumer, and is claimed again. */
  async #settle(entry: string, fields: Fields): Promise<boolean> {
    try {
      await this.#credit(fields);
    } catch (error) {
      console.log(`entry ${entry} failed: ${String(error)}`);
      await delay(200);
      return false;
    }
    if (this.#losesAcknowledgement) {
      this.#losesAcknowledgement = false; // as if this process had died here: it is delivered again
    } else {
      await this.#redis.xAck(this.#stream, GROUP, entry);
    }
    return true;
  }

  async #credit({ id = '', payload = '' }: Fields): Promise<void> {
    const { customer, points } = JSON.parse(payload) as { customer: string; points: number };
    await inTransaction(this.#pool, async (tx) => {
      const wasFirst = await this.#processed.processOnce(tx, GROUP, id, async () => {
        await tx.query('update points set total = total + $2 where customer = $1', [customer, points]);
      });
      console.log(`row ${id}: ${wasFirst ? 'credited' : 'known'}`);
    });
  }
}
