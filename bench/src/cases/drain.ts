import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { joined, linesFor, scaled, type TrialOf } from '../lines.js';
import { count } from '../statistics.js';
import type { Subject } from '../subject.js';
import { subjects } from '../subjects/all.js';
import { bullmq } from '../subjects/bullmq.js';
import { graphileWorker, graphileWorker018 } from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { pgBoss12, pgBossFetch, pgBossWork } from '../subjects/pg-boss.js';
import { postcommitOneCall, postcommitPg } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import { rawSql, rawSqlTwice } from '../subjects/raw-sql.js';
import { outboxPolling, outboxReplication } from '../subjects/transactional-outbox.js';

const CONSUMERS = subjects.filter(({ cannot }) => cannot?.consume === undefined);
const TWICE = [
  postcommitPg,
  postcommitTypeorm,
  postcommitPrisma,
  rawSql,
  handWritten,
  graphileWorker,
  graphileWorker018,
  pgBossWork,
  pgBoss12,
  bullmq,
  outboxPolling,
  outboxReplication,
];
const ONE = '1 process';
const TWO = '2 processes';

/** (c) How fast a backlog goes away. */
export function drainCase(setting: Setting): Case {
  const rows = scaled(setting, 100_000);
  const limitMs = scaled(setting, 10_000, 3_000);
  const trialOf =
    (processes: number, column: string): TrialOf =>
    (subject) => ({
      seconds: 8,
      run: async (place, note) => {
        await subject.prepare(place);
        const { rate } = await drain(subject, place, { rows, processes, limitMs }, note);
        return { [column]: rate };
      },
    });
  const target = (of: Subject, to: Subject, atLeast: number) =>
    ({ of: [of.name, ONE], to: [to.name, ONE], atLeast }) as const;
  return {
    id: 'drain',
    title: `Draining ${count(rows)} rows`,
    about:
      'Consumers in processes of their own, which are up before the clock starts; it runs from the first message that is published until the database says that none is left unsettled. Every message is counted: none may be missing.',
    columns: [
      { name: ONE, unit: 'rows/s' },
      { name: TWO, unit: 'rows/s' },
    ],
    ...joined([
      linesFor(setting, CONSUMERS, [ONE], ['consume'], trialOf(1, ONE)),
      linesFor(setting, TWICE, [TWO], ['consume', 'secondProcess'], trialOf(2, TWO)),
    ]),
    targets: [
      target(postcommitOneCall, rawSql, 0.85),
      target(postcommitOneCall, graphileWorker, 1.3),
      target(postcommitPg, rawSqlTwice, 0.9),
      target(postcommitPg, graphileWorker, 1.3),
      target(postcommitPg, pgBossWork, 1.6),
      target(postcommitPg, pgBossFetch, 1.6),
      target(postcommitTypeorm, postcommitPg, 0.6),
      target(postcommitPrisma, postcommitPg, 0.6),
      { of: [postcommitPg.name, TWO], to: [postcommitPg.name, ONE], atLeast: 1 },
    ],
  };
}
