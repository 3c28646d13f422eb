import type { Case, Setting } from '../case.js';
import { joined, linesFor, scaled } from '../lines.js';
import { measurePairs, medianPair } from '../pairs.js';
import { count, rateOf } from '../statistics.js';
import type { Subject } from '../subject.js';
import { type MariadbSubject, type OpenMariadb, postcommitMariadb, rawMariadb } from '../subjects/mariadb.js';

const LINES: readonly MariadbSubject[] = [postcommitMariadb, rawMariadb];
const DRAIN = 'drain';
const ENQUEUE = 'enqueue';
const RATIO = 'enqueue, of without';

/** What the statements for MariaDB and MySQL leave of what the server can do. */
export function mariadbCase(setting: Setting): Case {
  const rows = scaled(setting, 50_000, 2_000);
  const transactions = scaled(setting, 300);
  return {
    id: 'mariadb',
    title: `MariaDB: draining ${count(rows)} rows, and a business transaction with one message`,
    about:
      'On the MariaDB of this machine, with its own settings. One batch after another, in the process of the benchmark; the clock runs until nothing is left. The transactions come one after another, with and without the message in turns.',
    columns: [
      { name: DRAIN, unit: 'rows/s' },
      { name: ENQUEUE, unit: 'transactions/s' },
      { name: RATIO, unit: 'ratio' },
    ],
    ...joined([
      linesFor(setting, LINES, [DRAIN], [], (subject) => ({
        seconds: 25,
        run: () => onMariadb(subject, async (open) => ({ [DRAIN]: await drainRate(open, rows) })),
      })),
      linesFor(setting, LINES, [ENQUEUE, RATIO], [], (subject) => ({
        seconds: 15,
        run: () =>
          onMariadb(subject, async (open) => {
            const { rate, ratio } = medianPair(await measurePairs(open, 1, transactions));
            return { [ENQUEUE]: rate, [RATIO]: ratio };
          }),
      })),
    ]),
    targets: [
      { of: [postcommitMariadb.name, DRAIN], to: [rawMariadb.name, DRAIN], atLeast: 0.8 },
      { of: [postcommitMariadb.name, RATIO], to: [rawMariadb.name, RATIO], atLeast: 0.8 },
    ],
  };
}

async function drainRate(open: OpenMariadb, rows: number): Promise<number> {
  await open.seed({ rows });
  const rate = await rateOf(() => open.dispatchAll());
  const left = await open.left();
  if (left > 0) throw new Error(`${left} rows are left`);
  return rate;
}

async function onMariadb<T>(subject: Subject, work: (open: OpenMariadb) => Promise<T>): Promise<T> {
  const open = await (subject as MariadbSubject).openMariadb();
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}
