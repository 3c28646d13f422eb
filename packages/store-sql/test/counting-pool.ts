import type pg from 'pg';
import type { PgPoolLike } from '../../store-pg/src/pg-client-like.js';

/** A pool that remembers the first words of every statement sent, BEGIN and COMMIT included. */
export interface CountingPool extends PgPoolLike {
  /** What was sent since the last call. */
  taken(): string[];
}

export function countingPool(pool: pg.Pool): CountingPool {
  let sent: string[] = [];
  const record = (text: string): void => {
    sent.push(text.trim().split(/\s+/).slice(0, 2).join(' '));
  };
  return {
    query: (query) => {
      record(query.text);
      return pool.query<Record<string, unknown>>(query);
    },
    connect: async () => {
      const client = await pool.connect();
      return {
        on: client.on.bind(client),
        off: client.off.bind(client),
        release: (error?: Error | boolean) => client.release(error),
        query: (query) => {
          record(typeof query === 'string' ? query : query.text);
          return client.query<Record<string, unknown>>(query);
        },
      };
    },
    taken: () => {
      const taken = sent;
      sent = [];
      return taken;
    },
  };
}
