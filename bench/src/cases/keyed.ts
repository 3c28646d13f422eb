import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count } from '../statistics.js';
import { type Ability, BESIDE, type OpenSubject, type Workload } from '../subject.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { postcommitOneCall, postcommitPg } from '../subjects/postcommit-pg.js';

const LINES = [postcommitPg, postcommitOneCall, graphileWorker, handWritten];

/** (h) The work-loads with keys that count. */
export function keyedCase(setting: Setting): Case {
  const rows = scaled(setting, 100_000);
  const limitMs = scaled(setting, 15_000, 3_000);
  const keys = [scaled(setting, 1_000), rows];
  const heads = scaled(setting, 10_000);
  const part = (
    column: string,
    abilities: readonly Ability[],
    work: Omit<Workload, 'rows'> & { beside?(open: OpenSubject): Promise<void> } = {},
  ) => ({
    column,
    ...linesFor(setting, LINES, [column], ['consume', ...abilities], (subject) => ({
      seconds: 9,
      run: async (place, note) => {
        await subject.prepare(place);
        return { [column]: (await drain(subject, place, { rows, limitMs, ...work }, note)).rate };
      },
    })),
  });
  const parts = [
    part('no key', []),
    ...keys.map((many) => part(`${count(many)} keys`, ['keys'], { keyOf: (index) => `key-${index % many}` })),
    part('no key, beside one hot key', ['keys'], {
      beside: (open) => open.seed({ rows, keyOf: () => 'hot', firstOrder: BESIDE }),
    }),
    part(`no key, beside ${count(heads)} poisoned heads`, ['keys', 'poisonHeads'], {
      beside: async (open) => {
        await open.seed({
          rows: heads * 11,
          keyOf: (index) => `poison-${index % heads}`,
          firstOrder: BESIDE,
        });
        await open.poisonHeads?.();
      },
    }),
  ];
  const columns = parts.map(({ column }) => column);
  const least = [0.45, 0.45, 0.8, 0.8];
  return {
    id: 'keyed',
    title: `Draining ${count(rows)} rows with keys`,
    about: `Rows of one key are published in order, one after another. First all ${count(rows)} rows over so many keys. Then ${count(rows)} rows without a key, whose rate alone is shown: beside one key that has as many rows, and beside ${count(heads)} keys with ten followers each, whose first row failed and waits for an hour. graphile-worker's keys are its queue names.`,
    columns: columns.map((name) => ({ name, unit: 'rows/s' })),
    ...joined(parts),
    targets: columns.slice(1).map((column, index) => ({
      of: [postcommitOneCall.name, column] as const,
      to: [postcommitOneCall.name, 'no key'] as const,
      atLeast: least[index] ?? 0.8,
    })),
  };
}
