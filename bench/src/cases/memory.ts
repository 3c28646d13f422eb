import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { linesFor, scaled } from '../lines.js';
import { count, median } from '../statistics.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';

const FIRST = 'first tenth';
const LAST = 'last tenth';
const PEAK = 'peak of the process';

/** (f) Whether memory grows with what was drained. */
export function memoryCase(setting: Setting): Case {
  const rows = scaled(setting, 1_000_000);
  const limitMs = scaled(setting, 120_000, 5_000);
  const lines = [postcommitPg, handWritten, graphileWorker, pgBossWork, bullmq];
  return {
    id: 'memory',
    title: `Memory of a process that drains ${count(rows)} rows`,
    about:
      'The heap after a forced collection, at the beginning and at the end of the drain, and the most that the process had (with these collections, so a little less than without; with the loader of TypeScript, so more than a built program).',
    columns: [
      { name: FIRST, unit: 'MiB of heap', isLessBetter: true },
      { name: LAST, unit: 'MiB of heap', isLessBetter: true },
      { name: PEAK, unit: 'MiB resident', isLessBetter: true },
    ],
    ...linesFor(setting, lines, [FIRST, LAST, PEAK], ['consume'], (subject) => ({
      seconds: 110,
      run: async (place, note) => {
        await subject.prepare(place);
        const { heap, peakMiB } = await drain(subject, place, { rows, limitMs, measureHeap: true }, note);
        const tenth = Math.max(1, Math.floor(heap.length / 10));
        return {
          [FIRST]: median(heap.slice(0, tenth)),
          [LAST]: median(heap.slice(-tenth)),
          [PEAK]: peakMiB,
        };
      },
    })),
    targets: [{ of: [postcommitPg.name, LAST], to: [postcommitPg.name, FIRST], atMost: 1.25 }],
  };
}
