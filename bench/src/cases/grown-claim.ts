import type { Case, Setting } from '../case.js';
import { claimTimes, SAMPLES } from '../claim-times.js';
import { linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { count, median } from '../statistics.js';
import { BATCH_SIZE } from '../subject.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { rawSql } from '../subjects/raw-sql.js';

const LINES = [postcommitPg, rawSql];

/** Whether a claim reads what was dispatched long ago. */
export function grownClaimCase(setting: Setting): Case {
  const dispatched = scaled(setting, 5_000_000);
  const [start, grown, growth] = ['at the start', `beside ${count(dispatched)} dispatched`, 'growth'];
  const columns = [start, grown, growth];
  return {
    id: 'grown-claim',
    title: 'The claim beside dispatched rows',
    about: `The time of one claim of ${count(BATCH_SIZE)} rows, the middle one of ${SAMPLES}, on a new table and after that many rows were put there, by SQL, as dispatched.`,
    columns: columns.map((name) => ({ name, unit: name === growth ? 'ratio' : 'ms', isLessBetter: true })),
    ...linesFor(setting, LINES, columns, ['claim', 'seedDispatched'], (subject) => ({
      seconds: 150,
      run: async (place) => {
        await subject.prepare(place);
        const open = await subject.open(place);
        try {
          const sample = async (firstOrder: number): Promise<number> => {
            await open.seed({ rows: SAMPLES * BATCH_SIZE, firstOrder });
            await settleDown(place);
            return median(await claimTimes(open, SAMPLES));
          };
          const before = await sample(0);
          await open.seedDispatched?.(dispatched);
          const after = await sample(SAMPLES * BATCH_SIZE);
          return { [start]: before, [grown]: after, [growth]: after / before };
        } finally {
          await open.close();
        }
      },
    })),
    targets: [{ of: [postcommitPg.name, growth], to: 1, atMost: 1.3 }],
  };
}
