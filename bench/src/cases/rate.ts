import type { Case, Setting } from '../case.js';
import { measureLatencies } from '../latencies.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count } from '../statistics.js';
import type { Place } from '../subject.js';
import { graphileWorker018, graphileWorker018Ten } from '../subjects/graphile-worker.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { COLUMNS, cellsOf } from './latency.js';

const LINES = [postcommitPg, graphileWorker018, graphileWorker018Ten];
const RATES = [100, 1_000];
const COST = 'server transactions';

/** How late a message is at a steady rate, and what the server does for it. */
export function rateCase(setting: Setting): Case {
  const seconds = scaled(setting, 10, 2);
  const named = (rate: number) => (column: string) => `${column} at ${count(rate)}/s`;
  const columnsOf = (rate: number) => [...COLUMNS, COST].map(named(rate));
  const parts = RATES.map((rate) =>
    linesFor(setting, LINES, columnsOf(rate), ['consume'], (subject) => ({
      seconds: seconds + 4,
      run: async (place) => {
        await subject.prepare(place);
        const load = {
          transactions: seconds * rate,
          messagesEach: 1,
          everyMs: 1_000 / rate,
          graceMs: 10_000,
        };
        const before = await transactionsOf(place);
        const cells = cellsOf(await measureLatencies(subject, place, load));
        const cost = ((await transactionsOf(place)) - before) / load.transactions;
        return Object.fromEntries(
          Object.entries({ ...cells, [COST]: cost }).map(([column, value]) => [named(rate)(column), value]),
        );
      },
    })),
  );
  return {
    id: 'rate',
    title: 'Commit to publish at a steady rate',
    about: `A business transaction with one message every 10 ms, then every millisecond, for ${seconds} s; from sending COMMIT, in one process, to the publisher's call in another; and how many transactions the server ran for each message, the producer's included.`,
    columns: RATES.flatMap(columnsOf).map((name) => ({
      name,
      unit: name.startsWith(COST) ? 'per message' : 'ms',
      isLessBetter: true,
    })),
    ...joined(parts),
    targets: RATES.flatMap((rate) =>
      COLUMNS.map((column) => ({
        of: [postcommitPg.name, named(rate)(column)] as const,
        to: [graphileWorker018Ten.name, named(rate)(column)] as const,
        atMost: 1,
      })),
    ),
  };
}

/** Sessions report what they did when they are idle, at most once a second. */
async function transactionsOf({ pool, name }: Place): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { rows } = await pool.query<{ sum: number }>(
    'select (xact_commit + xact_rollback)::int as sum from pg_stat_database where datname = $1',
    [name],
  );
  return rows[0]?.sum ?? Number.NaN;
}
