import type { Case, Setting } from '../case.js';
import { joined, linesFor, scaled } from '../lines.js';
import { measurePairs, medianPair } from '../pairs.js';
import { settleDown } from '../place.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker, graphileWorker018 } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBoss12, pgBossWork } from '../subjects/pg-boss.js';
import { postcommitManyStores, postcommitNoWakeup, postcommitPg } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import { rawSql, rawSqlPrepared } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const CONCURRENCIES = [1, 10, 50];
const LINES = [
  postcommitPg,
  postcommitNoWakeup,
  postcommitManyStores,
  postcommitTypeorm,
  postcommitPrisma,
  rawSql,
  rawSqlPrepared,
  handWritten,
  graphileWorker,
  graphileWorker018,
  pgBossWork,
  pgBoss12,
  bullmq,
  outboxPolling,
];

/** (a) What a message costs the transaction that it is part of. */
export function enqueueCase(setting: Setting): Case {
  const names = (at: number) => ({ rate: `${at} at once`, ratio: `${at} at once, of without` });
  const parts = CONCURRENCIES.map((concurrency) => {
    const { rate, ratio } = names(concurrency);
    const transactions = scaled(setting, concurrency === 1 ? 300 : 900, concurrency);
    return linesFor(setting, LINES, [rate, ratio], ['transact'], (subject) => ({
      seconds: 6,
      run: async (place) => {
        await subject.prepare(place);
        const open = await subject.open(place);
        try {
          await settleDown(place);
          const pair = medianPair(await measurePairs(open, concurrency, transactions));
          return { [rate]: pair.rate, [ratio]: pair.ratio };
        } finally {
          await open.close();
        }
      },
    }));
  });
  const target = (of: string, to: string, at: number, atLeast: number) => ({
    of: [of, names(at).ratio] as const,
    to: [to, names(at).ratio] as const,
    atLeast,
  });
  return {
    id: 'enqueue',
    title: 'A business transaction with one message',
    about:
      'BEGIN, one order, one message, COMMIT, on 1, 10 and 50 connections; and how many of these there are for each of the same transaction without the message, measured in turns. The second figure is the one to compare: the disk is part of the first.',
    columns: CONCURRENCIES.flatMap((concurrency) => [
      { name: names(concurrency).rate, unit: 'transactions/s' },
      { name: names(concurrency).ratio, unit: 'ratio' },
    ]),
    ...joined(parts),
    targets: [
      target(postcommitPg.name, rawSql.name, 1, 0.9),
      target(postcommitPg.name, postcommitNoWakeup.name, 50, 0.9),
      target(postcommitManyStores.name, postcommitNoWakeup.name, 50, 0.9),
      target(postcommitPg.name, graphileWorker.name, 10, 1),
      target(postcommitPg.name, pgBossWork.name, 10, 1),
    ],
  };
}
