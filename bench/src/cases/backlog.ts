import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count, median } from '../statistics.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { rawSqlTwice } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const FIRST = 'heap, first tenth';
const LAST = 'heap, last tenth';
const PEAK = 'peak of the process';

const QUICK = [postcommitPg, rawSqlTwice, handWritten, graphileWorker, pgBossWork, bullmq];
const LINES = [...QUICK, outboxPolling];

type Sizes = [few: number, many: number, most: number];

/** (e), (f) Whether the rate or the memory depends on how much is pending. */
export function backlogCase(setting: Setting): Case {
  const [few, many, most] = [10_000, 100_000, 1_000_000].map((rows) => scaled(setting, rows)) as Sizes;
  const pending = (rows: number): string => `${count(rows)} pending`;
  const memory = [pending(most), FIRST, LAST, PEAK];
  const part = (rows: number) =>
    linesFor(setting, LINES, [pending(rows)], ['consume'], (subject) => ({
      seconds: 7,
      run: async (place, note) => {
        await subject.prepare(place);
        const work = { rows, limitMs: scaled(setting, 10_000, 3_000) };
        return { [pending(rows)]: (await drain(subject, place, work, note)).rate };
      },
    }));
  const withMemory = linesFor(setting, QUICK, memory, ['consume'], (subject) => ({
    seconds: 50,
    run: async (place, note) => {
      await subject.prepare(place);
      const work = { rows: most, limitMs: scaled(setting, 30_000, 5_000), measureHeap: true };
      const { rate, heap, peakMiB } = await drain(subject, place, work, note);
      const tenth = Math.max(1, Math.floor(heap.length / 10));
      return {
        [pending(most)]: rate,
        [FIRST]: median(heap.slice(0, tenth)),
        [LAST]: median(heap.slice(-tenth)),
        [PEAK]: peakMiB,
      };
    },
  }));
  const tooSlow = !setting.subjects.includes(outboxPolling)
    ? []
    : memory.map((column) => ({ line: outboxPolling.name, column, text: 'not tried: it takes minutes' }));
  const toFew = (rows: number) =>
    ({
      of: [postcommitPg.name, pending(rows)],
      to: [postcommitPg.name, pending(few)],
      atLeast: 1 / 1.3,
    }) as const;
  return {
    id: 'backlog',
    title: 'The rate and the memory of a drain, by how much is pending',
    about: `One process. While it drains ${count(most)} rows, its heap is measured twice a second, after a forced collection: at the beginning and at the end of the drain, and the most that the process had (with the loader of TypeScript, so more than a built program).`,
    columns: [
      ...[few, many, most].map((rows) => ({ name: pending(rows), unit: 'rows/s' })),
      { name: FIRST, unit: 'MiB', isLessBetter: true },
      { name: LAST, unit: 'MiB', isLessBetter: true },
      { name: PEAK, unit: 'MiB resident', isLessBetter: true },
    ],
    ...joined([part(few), part(many), withMemory, { trials: [], words: tooSlow }]),
    targets: [
      toFew(many),
      toFew(most),
      { of: [postcommitPg.name, LAST], to: [postcommitPg.name, FIRST], atMost: 1.25 },
    ],
  };
}
