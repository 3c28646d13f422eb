import type { Case, Setting } from '../case.js';
import { claimTimes, SAMPLES } from '../claim-times.js';
import { withHeldTransaction } from '../held-transaction.js';
import { linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { count, median } from '../statistics.js';
import { BATCH_SIZE } from '../subject.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossFetch } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import { rawSql } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const LINES = [
  postcommitPg,
  postcommitTypeorm,
  postcommitPrisma,
  rawSql,
  handWritten,
  graphileWorker,
  pgBossFetch,
  bullmq,
  outboxPolling,
];

/** (i) The claim while vacuum is held back. */
export function heldClaimCase(setting: Setting): Case {
  const batches = scaled(setting, 122, 2);
  const [start, later, growth] = ['at the start', `after ${count(batches * BATCH_SIZE)} rows`, 'growth'];
  const columns = [start, later, growth];
  return {
    id: 'held-claim',
    title: 'The claim while a transaction is held open elsewhere',
    about: `The time of one claim of ${count(BATCH_SIZE)} rows, the middle one of ${SAMPLES}; all rows are settled in between, and none of what they leave behind can be removed.`,
    columns: columns.map((name) => ({ name, unit: name === growth ? 'ratio' : 'ms', isLessBetter: true })),
    ...linesFor(setting, LINES, columns, ['claim'], (subject) => ({
      seconds: 8,
      run: async (place) => {
        await subject.prepare(place);
        const open = await subject.open(place);
        try {
          await open.seed({ rows: (batches + 2 * SAMPLES) * BATCH_SIZE });
          await settleDown(place);
          return await withHeldTransaction(place, true, async () => {
            const before = await claimTimes(open, SAMPLES);
            await claimTimes(open, batches - SAMPLES);
            const after = await claimTimes(open, SAMPLES);
            return {
              [start]: median(before),
              [later]: median(after),
              [growth]: median(after) / median(before),
            };
          });
        } finally {
          await open.close();
        }
      },
    })),
    targets: [{ of: [postcommitPg.name, growth], to: 1, atMost: 2 }],
  };
}
