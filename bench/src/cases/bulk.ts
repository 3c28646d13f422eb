import type { Case, Setting } from '../case.js';
import { linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { count, median, rateOf } from '../statistics.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import { rawSql } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const TRANSACTIONS = 3;

const LINES = [
  postcommitPg,
  postcommitTypeorm,
  postcommitPrisma,
  rawSql,
  handWritten,
  graphileWorker,
  pgBossWork,
  bullmq,
  outboxPolling,
];

/** (b) Many messages in one transaction. */
export function bulkCase(setting: Setting): Case {
  const messages = scaled(setting, 10_000);
  const column = 'messages';
  return {
    id: 'bulk',
    title: `${count(messages)} messages in one transaction`,
    about: `The middle one of ${TRANSACTIONS} transactions a round, after one that is not counted. BullMQ adds them after COMMIT; pg-transactional-outbox has no way to add many, and inserts one after another.`,
    columns: [{ name: column, unit: 'messages/s' }],
    ...linesFor(setting, LINES, [column], ['transact'], (subject) => ({
      seconds: 4,
      run: async (place) => {
        await subject.prepare(place);
        const open = await subject.open(place);
        try {
          await settleDown(place);
          const rates: number[] = [];
          for (let turn = 0; turn <= TRANSACTIONS; turn++) {
            const orders = Array.from({ length: messages }, (_, index) => turn * messages + index);
            rates.push(
              await rateOf(async () => {
                await open.transact?.(orders);
                return messages;
              }),
            );
          }
          const left = await open.left();
          if (left !== rates.length * messages) throw new Error(`${left} messages are there`);
          return { [column]: median(rates.slice(1)) };
        } finally {
          await open.close();
        }
      },
    })),
    targets: [
      { of: [postcommitPg.name, column], to: [rawSql.name, column], atLeast: 0.85 },
      { of: [postcommitPg.name, column], to: [graphileWorker.name, column], atLeast: 1 },
    ],
  };
}
