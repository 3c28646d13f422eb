import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessedMessages } from '@postcommit/core';
import { inTransaction } from '@postcommit/store-pg';
import { createClient } from '@redis/client';
import type pg from 'pg';

const GROUP = 'points';
const CONSUMER = 'points-1';
/** Nobody works on an entry for that long: in production, minutes. */
const IDLE_MS = 200;
const BLOCK_MS = 200;

type Fields = Record<string, string>;

interface Entry {
  readonly id: string;
  readonly message: Fields;
}

/** What was read of one stream. */
interface Read {
  readonly messages: readonly Entry[];
}

/** Credits the points of each order once, however often its entry is delivered. */
export class PointsConsumer {
  /** Its own connection: reading blocks it. */
  readonly #redis: ReturnType<typeof newClient>;
  readonly #pool: pg.Pool;
  readonly #processed: ProcessedMessages<pg.PoolClient>;
  readonly #stream: string;
  #losesAcknowledgement = true;

  constructor(url: string, pool: pg.Pool, processed: ProcessedMessages<pg.PoolClient>, stream: string) {
    this.#redis = newClient(url);
    this.#pool = pool;
    this.#processed = processed;
    this.#stream = stream;
  }

  /** The group reads from the first entry on: `0`. Only new ones would be `$`. */
  async connect(): Promise<void> {
    await this.#redis.connect();
    await this.#redis.xGroupCreate(this.#stream, GROUP, '0', { MKSTREAM: true });
  }

  /** Resolves after this many deliveries that were handled. */
  async run(deliveries: number): Promise<void> {
    while (deliveries > 0) {
      for (const entry of [...(await this.#abandoned()), ...(await this.#unread())])
        if (await this.#settle(entry)) deliveries -= 1;
    }
  }

  /** This example cleans up; a real consumer leaves the stream alone. */
  async deleteStream(): Promise<void> {
    await this.#redis.del(this.#stream);
    this.#redis.destroy();
  }

  /** Entries that a consumer has read, perhaps this one, and not acknowledged: it failed, or is gone. */
  async #abandoned(): Promise<readonly Entry[]> {
    const options = { COUNT: 10 };
    const { messages } = await this.#redis.xAutoClaim(this.#stream, GROUP, CONSUMER, IDLE_MS, '0', options);
    return messages.filter((entry) => entry !== null);
  }

  async #unread(): Promise<readonly Entry[]> {
    const options = { COUNT: 10, BLOCK: BLOCK_MS };
    const from = { key: this.#stream, id: '>' };
    const streams: Read[] = (await this.#redis.xReadGroup(GROUP, CONSUMER, from, options)) ?? [];
    return streams.flatMap(({ messages }) => messages);
  }

  /** Acknowledges after the commit. What fails stays with this consumer, and is claimed again. */
  async #settle({ id, message }: Entry): Promise<boolean> {
    try {
      await this.#credit(message);
    } catch (error) {
      console.log(`entry ${id} failed: ${String(error)}`);
      await delay(200);
      return false;
    }
    if (this.#losesAcknowledgement) {
      this.#losesAcknowledgement = false; // as if this process had died here: it is delivered again
    } else {
      await this.#redis.xAck(this.#stream, GROUP, id);
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

function newClient(url: string) {
  const client = createClient({ url });
  client.on('error', (error) => console.log(`Redis: ${error.message}`));
  return client;
}
