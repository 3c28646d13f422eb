import { type PgClientLike, PgOutboxStore } from '@postcommit/store-pg';
import type { PostgresStores } from '../../store-sql/test/postgres-fixture.js';

export const pgStores: PostgresStores<PgClientLike> = {
  createStore: ({ pool }, options) => new PgOutboxStore(pool, options),
  begin: async ({ pool }) => {
    const client = await pool.connect();
    await client.query('begin');
    let ended = false;
    const end = async (command: string): Promise<void> => {
      if (ended) return;
      ended = true;
      await client.query(command);
      client.release();
    };
    return {
      handle: client,
      savepoint: async () => {
        await client.query('savepoint here');
        return async () => {
          await client.query('rollback to savepoint here');
        };
      },
      commit: () => end('commit'),
      rollback: () => end('rollback'),
    };
  },
};
