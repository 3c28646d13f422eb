import type { Case, Setting } from '../case.js';
import { joined, linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { median, rateOf } from '../statistics.js';
import type { OpenSubject } from '../subject.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitNoWakeup, postcommitPg } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import { rawSql } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const CONCURRENCIES = [1, 10, 50];
/** The disk's speed changes within seconds: with and without take turns in short slices. */
const SLICES = 5;

const LINES = [
  postcommitPg,
  postcommitNoWakeup,
  postcommitTypeorm,
  postcommitPrisma,
  rawSql,
  handWritten,
  graphileWorker,
  pgBossWork,
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
      seconds: 10,
      run: async (place) => {
        await subject.prepare(place);
        const open = await subject.open(place);
        try {
          await settleDown(place);
          const pairs = await measurePairs(open, concurrency, transactions);
          return {
            [rate]: median(pairs.map((pair) => pair.withMessage)),
            [ratio]: median(pairs.map((pair) => pair.withMessage / pair.without)),
          };
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
      target(postcommitPg.name, graphileWorker.name, 10, 1),
      target(postcommitPg.name, pgBossWork.name, 10, 1),
    ],
  };
}

interface Pair {
  readonly withMessage: number;
  readonly without: number;
}

async function measurePairs(open: OpenSubject, concurrency: number, count: number): Promise<Pair[]> {
  let order = 0;
  const slice = (withMessage: boolean): Promise<number> =>
    rateOf(async () => {
      const each = Math.ceil(count / concurrency);
      const producer = async (): Promise<void> => {
        for (let done = 0; done < each; done++) {
          order += 1;
          await open.transact?.(withMessage ? [order] : []);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, producer));
      return each * concurrency;
    });
  const pairs: Pair[] = [];
  // The first pair opens connections and warms the caches.
  for (let round = 0; round <= SLICES; round++) {
    const pair = { without: await slice(false), withMessage: await slice(true) };
    if (round > 0) pairs.push(pair);
  }
  const expected = (SLICES + 1) * Math.ceil(count / concurrency) * concurrency;
  const left = await open.left();
  if (left !== expected) throw new Error(`${left} messages are there instead of ${expected}`);
  return pairs;
}
