import type { Case, Setting } from '../case.js';
import { type Drain, drain } from '../drain.js';
import { joined, type Lines, linesFor, scaled } from '../lines.js';
import { count } from '../statistics.js';
import type { Ability, OpenSubject, Place, Subject } from '../subject.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { rawSqlTwice } from '../subjects/raw-sql.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const LINES = [postcommitPg, rawSqlTwice, handWritten, graphileWorker, pgBossWork, bullmq, outboxPolling];

/** (e) Whether the rate depends on how much is in the table. */
export function growthCase(setting: Setting): Case {
  const few = scaled(setting, 10_000);
  const limitMs = scaled(setting, 20_000, 3_000);
  const pending = [few, scaled(setting, 100_000), scaled(setting, 1_000_000)];
  const pendingParts = pending.map((rows, size) =>
    linesFor(setting, LINES, [`${count(rows)} pending`], ['consume'], (subject) => ({
      seconds: [5, 10, 60][size] ?? 60,
      run: async (place, note) => {
        await subject.prepare(place);
        return { [`${count(rows)} pending`]: await rateOf(subject, place, { rows, limitMs }, note) };
      },
    })),
  );
  const beside = (
    rows: number,
    what: string,
    ability: Ability,
    seed: (open: OpenSubject) => Promise<void> | undefined,
  ): Lines & { column: string } => {
    const column = `${count(few)} beside ${count(rows)} ${what}`;
    const turns = new Map<Subject, number>();
    return {
      column,
      ...linesFor(setting, LINES, [column], ['consume', ability], (subject) => ({
        seconds: 30,
        // The place is kept for all rounds: it takes minutes to fill.
        prepare: async (place) => {
          await subject.prepare(place);
          const open = await subject.open(place);
          await seed(open);
          await open.close();
        },
        run: async (place, note) => {
          const turn = turns.get(subject) ?? 0;
          turns.set(subject, turn + 1);
          const work = { rows: few, firstOrder: turn * few, limitMs };
          return { [column]: await rateOf(subject, place, work, note) };
        },
      })),
    };
  };
  const manyDispatched = scaled(setting, 1_000_000);
  const mostDispatched = scaled(setting, 5_000_000);
  const manyLater = scaled(setting, 1_000_000);
  const besides = [
    beside(manyDispatched, 'dispatched', 'seedDispatched', (open) => open.seedDispatched?.(manyDispatched)),
    beside(mostDispatched, 'dispatched', 'seedDispatched', (open) => open.seedDispatched?.(mostDispatched)),
    beside(manyLater, 'for later', 'seedLater', (open) => open.seedLater?.(manyLater)),
  ];
  const columns = [
    ...pending.map((rows) => `${count(rows)} pending`),
    ...besides.map(({ column }) => column),
  ];
  return {
    id: 'growth',
    title: 'The rate of a drain, by what is in the table',
    about:
      'One process. Compare along a line. Dispatched rows were put there by SQL, not by dispatching them, and stay there for all rounds.',
    columns: columns.map((name) => ({ name, unit: 'rows/s' })),
    ...joined([...pendingParts, ...besides]),
    targets: columns.slice(1).map((column) => ({
      of: [postcommitPg.name, column] as const,
      to: [postcommitPg.name, columns[0] ?? ''] as const,
      atLeast: 1 / 1.3,
    })),
  };
}

async function rateOf(
  subject: Subject,
  place: Place,
  work: Drain,
  note: (text: string) => void,
): Promise<number> {
  return (await drain(subject, place, work, note)).rate;
}
