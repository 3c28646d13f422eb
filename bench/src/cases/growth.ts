import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { inKeptPlace } from '../kept-place.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count } from '../statistics.js';
import type { Ability, OpenSubject } from '../subject.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { rawSqlTwice } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const LINES = [postcommitPg, rawSqlTwice, handWritten, graphileWorker, pgBossWork, bullmq, outboxPolling];
const ALONE = 'alone';

/** (e) Whether the rate depends on what else is in the table. */
export function growthCase(setting: Setting): Case {
  const few = scaled(setting, 10_000);
  const limitMs = scaled(setting, 10_000, 3_000);
  const part = (
    column: string,
    abilities: readonly Ability[] = [],
    fill: (open: OpenSubject) => Promise<void> | undefined = () => undefined,
  ) => ({
    column,
    ...linesFor(setting, LINES, [column], ['consume', ...abilities], (subject) => ({
      seconds: column === ALONE ? 6 : 20,
      ...inKeptPlace(subject, fill, async (place, round, note) => {
        const work = { rows: few, firstOrder: round * few, limitMs };
        return { [column]: (await drain(subject, place, work, note)).rate };
      }),
    })),
  });
  const dispatched = [1_000_000, 5_000_000].map((rows) => scaled(setting, rows));
  const later = scaled(setting, 1_000_000);
  const parts = [
    part(ALONE),
    ...dispatched.map((rows) =>
      part(`beside ${count(rows)} dispatched`, ['seedDispatched'], (open) => open.seedDispatched?.(rows)),
    ),
    part(`beside ${count(later)} for later`, ['seedLater'], (open) => open.seedLater?.(later)),
  ];
  const columns = parts.map(({ column }) => column);
  return {
    id: 'growth',
    title: `Draining ${count(few)} rows, by what else is in the table`,
    about:
      'One process. Compare along a line. Dispatched rows were put there by SQL, not by dispatching them, and stay there for all rounds.',
    columns: columns.map((name) => ({ name, unit: 'rows/s' })),
    ...joined(parts),
    targets: columns.slice(1).map((column) => ({
      of: [postcommitPg.name, column] as const,
      to: [postcommitPg.name, ALONE] as const,
      atLeast: 1 / 1.3,
    })),
  };
}
