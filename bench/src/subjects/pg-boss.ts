import PgBoss from 'pg-boss';
import { BATCH_SIZE, payload, type Subject } from '../subject.js';

/** Batches of a thousand, fetched and completed as fast as they come, four at a time. */
export const pgBoss: Subject = {
  name: 'pg-boss 10',
  open: async (place) => {
    const boss = new PgBoss({ connectionString: place.url, supervise: false, schedule: false, max: 10 });
    boss.on('error', () => {});
    await boss.start();
    await boss.createQueue('publish');
    let seeded = 0;
    return {
      seed: async ({ rows }) => {
        seeded += rows;
        for (let from = 0; from < rows; from += 10_000) {
          await boss.insert(
            Array.from({ length: Math.min(10_000, rows - from) }, (_, offset) => ({
              name: 'publish',
              data: payload(from + offset),
            })),
          );
        }
      },
      drain: async () => {
        let done = 0;
        const worker = async (): Promise<void> => {
          while (done < seeded) {
            const jobs = await boss.fetch('publish', { batchSize: BATCH_SIZE });
            if (jobs.length === 0) return;
            await boss.complete(
              'publish',
              jobs.map(({ id }) => id),
            );
            done += jobs.length;
          }
        };
        await Promise.all([worker(), worker(), worker(), worker()]);
        return done;
      },
      enqueueOne: async (orderId) => {
        const client = await place.pool.connect();
        await client.query('begin');
        await client.query('insert into orders (number) values ($1)', [orderId]);
        const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
        await boss.send('publish', payload(orderId), { db: db as unknown as PgBoss.Db });
        await client.query('commit');
        client.release();
      },
      enqueueBulk: async (count) => {
        await boss.insert(
          Array.from({ length: count }, (_, index) => ({ name: 'publish', data: payload(index) })),
        );
      },
      close: async () => {
        await boss.stop({ graceful: true, wait: true });
      },
    };
  },
};
