import { setTimeout } from 'node:timers/promises';
import type { Case, Setting } from '../case.js';
import { withHeldTransaction } from '../held-transaction.js';
import { measureLatencies } from '../latencies.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count, percentile } from '../statistics.js';
import type { Place, Subject } from '../subject.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBossWork } from '../subjects/pg-boss.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { outboxPolling } from '../subjects/transactional-outbox.js';

const LINES = [postcommitPg, handWritten, graphileWorker, pgBossWork, bullmq, outboxPolling];

/** (g) A minute of steady load, and another one while vacuum is held back. */
export function steadyCase(setting: Setting): Case {
  const seconds = scaled(setting, 60, 3);
  const load = { transactions: seconds * 100, messagesEach: 10, everyMs: 10, graceMs: 10_000 };
  const part = (isHeld: boolean) => {
    const suffix = isHeld ? ', transaction held open' : '';
    const [p99, dead] = [`p99${suffix}`, `dead tuples${suffix}`];
    return linesFor(setting, LINES, [p99, dead], ['consume', 'transact'], (subject) => ({
      seconds: 66,
      run: async (place) => {
        await subject.prepare(place);
        return withHeldTransaction(place, isHeld, async () => {
          const { ms, sent } = await measureLatencies(subject, place, load);
          const late =
            ms.length < sent ? `${count(ms.length)} of ${count(sent)} arrived` : percentile(ms, 0.99);
          return { [p99]: late, [dead]: await deadTuplesOf(subject, place) };
        });
      },
    }));
  };
  const columns = ['p99', 'dead tuples', 'p99, transaction held open', 'dead tuples, transaction held open'];
  return {
    id: 'steady',
    title: `${count(1_000)} messages a second for ${seconds} s`,
    about:
      'A business transaction with ten messages every 10 ms; from COMMIT to publish, and what is dead in the tables at the end; then as long again, in a new table, while a transaction elsewhere is held open all the time, so that nothing can be vacuumed.',
    columns: columns.map((name) => ({
      name,
      unit: name.startsWith('p99') ? 'ms' : 'tuples',
      isLessBetter: true,
    })),
    ...joined([part(false), part(true)]),
    targets: [
      { of: [postcommitPg.name, 'p99'], to: [graphileWorker.name, 'p99'], atMost: 1 },
      {
        of: [postcommitPg.name, 'p99, transaction held open'],
        to: [graphileWorker.name, 'p99, transaction held open'],
        atMost: 1,
      },
    ],
  };
}

/** Each session reports when it ends. The consumers have been asked to end. */
async function deadTuplesOf(subject: Subject, { pool }: Place): Promise<number | string> {
  if (subject === bullmq) return 'in Redis';
  await setTimeout(1_500);
  const { rows } = await pool.query<{ dead: number }>(
    'select sum(n_dead_tup)::int as dead from pg_stat_user_tables',
  );
  return rows[0]?.dead ?? 0;
}
