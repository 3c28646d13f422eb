import type { Case, Setting } from '../case.js';
import { claimTimes, SAMPLES } from '../claim-times.js';
import { inKeptPlace } from '../kept-place.js';
import { joined, linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { count, median } from '../statistics.js';
import { BATCH_SIZE, type OpenSubject } from '../subject.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { rawSql } from '../subjects/raw-sql.js';

const LINES = [postcommitPg, rawSql];
const ALONE = 'alone';

/** Whether a claim reads what was dispatched long ago. */
export function grownClaimCase(setting: Setting): Case {
  const dispatched = scaled(setting, 5_000_000);
  const grown = `beside ${count(dispatched)} dispatched`;
  const rows = SAMPLES * BATCH_SIZE;
  const part = (column: string, fill: (open: OpenSubject) => Promise<void> | undefined) =>
    linesFor(setting, LINES, [column], ['claim', 'seedDispatched'], (subject) => ({
      seconds: column === ALONE ? 4 : 30,
      ...inKeptPlace(subject, fill, async (place, round) => {
        const open = await subject.open(place);
        try {
          await open.seed({ rows, firstOrder: round * rows });
          await settleDown(place);
          return { [column]: median(await claimTimes(open, SAMPLES)) };
        } finally {
          await open.close();
        }
      }),
    }));
  return {
    id: 'grown-claim',
    title: 'The claim beside dispatched rows',
    about: `The time of one claim of ${count(BATCH_SIZE)} rows, the middle one of ${SAMPLES}, in a table of its own and in one with that many rows that were put there, by SQL, as dispatched.`,
    columns: [ALONE, grown].map((name) => ({ name, unit: 'ms', isLessBetter: true })),
    ...joined([part(ALONE, () => undefined), part(grown, (open) => open.seedDispatched?.(dispatched))]),
    targets: [{ of: [postcommitPg.name, grown], to: [postcommitPg.name, ALONE], atMost: 1.3 }],
  };
}
