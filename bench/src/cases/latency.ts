import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import type { Case, Cells, Setting, Trial } from '../case.js';
import { type Latencies, type Load, measureLatencies, produceUnder } from '../latencies.js';
import { joined, linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { Publications } from '../publications.js';
import { count, percentile } from '../statistics.js';
import { monotonicMs, type Place } from '../subject.js';
import { bullmq, bullmqDefaults } from '../subjects/bullmq.js';
import { businessTransaction } from '../subjects/business-transaction.js';
import {
  graphileWorker,
  graphileWorker018,
  graphileWorker018Ten,
  graphileWorkerDefaults,
} from '../subjects/graphile-worker.js';
import { handWritten } from '../subjects/hand-written.js';
import { createOutbox } from '../subjects/outbox-table.js';
import { pgBoss12, pgBossDefaults, pgBossWork } from '../subjects/pg-boss.js';
import { enqueue, inBatches, runApplication } from '../subjects/postcommit.js';
import { postcommitPg, postcommitPgDefaults, postcommitSameProcess } from '../subjects/postcommit-pg.js';
import { postcommitPrisma } from '../subjects/postcommit-prisma.js';
import { postcommitTypeorm } from '../subjects/postcommit-typeorm.js';
import {
  outboxPolling,
  outboxPollingDefaults,
  outboxReplication,
  outboxReplicationDefaults,
} from '../subjects/transactional-outbox.js';

const P50 = 'p50';
const P95 = 'p95';
const P99 = 'p99';
export const COLUMNS = [P50, P95, P99];

/** Leaves out libraries that only poll in the benchmark's own tight loop: that would not measure them. */
const LINES = [
  postcommitPg,
  postcommitTypeorm,
  postcommitPrisma,
  postcommitPgDefaults,
  handWritten,
  graphileWorker,
  graphileWorker018,
  graphileWorker018Ten,
  graphileWorkerDefaults,
  pgBossWork,
  pgBoss12,
  pgBossDefaults,
  bullmq,
  bullmqDefaults,
  outboxPolling,
  outboxPollingDefaults,
  outboxReplication,
  outboxReplicationDefaults,
];

/** (d) How late a message is when nothing else is going on. */
export function latencyCase(setting: Setting): Case {
  const messages = scaled(setting, 200, 10);
  const load = { transactions: messages, messagesEach: 1, everyMs: 50, graceMs: 5_000 };
  const under = (to: string, column: string) =>
    ({ of: [postcommitPg.name, column], to: [to, column], atMost: 1 }) as const;
  return {
    id: 'latency',
    title: 'Commit to publish on an idle system',
    about: `One message every 50 ms, ${count(messages)} of them; from sending COMMIT, in one process, to the publisher's call in another; _same process_ is a producer and a worker in one, which need no NOTIFY.`,
    columns: COLUMNS.map((name) => ({ name, unit: 'ms', isLessBetter: true })),
    ...joined([
      linesFor(setting, LINES, COLUMNS, ['consume'], (subject) => ({
        seconds: 14,
        run: async (place) => {
          await subject.prepare(place);
          return cellsOf(await measureLatencies(subject, place, load));
        },
      })),
      { trials: sameProcess(setting, load), words: [] },
    ]),
    targets: [
      under(graphileWorker.name, P50),
      under(graphileWorker.name, P95),
      under(graphileWorkerDefaults.name, P50),
      under(graphileWorkerDefaults.name, P95),
      { of: [postcommitPg.name, P50], to: [graphileWorker018Ten.name, P50], atMost: 0.6 },
      { of: [postcommitSameProcess.name, P50], to: 10, atMost: 1 },
    ],
  };
}

export function cellsOf({ ms, sent }: Latencies): Cells {
  if (ms.length < sent) {
    const words = `${count(ms.length)} of ${count(sent)} arrived`;
    return Object.fromEntries(COLUMNS.map((column) => [column, words]));
  }
  return { [P50]: percentile(ms, 0.5), [P95]: percentile(ms, 0.95), [P99]: percentile(ms, 0.99) };
}

/** The worker shares its store with the producer, which wakes it directly. */
function sameProcess({ subjects }: Setting, load: Load): Trial[] {
  if (!subjects.includes(postcommitSameProcess)) return [];
  const run = async (place: Place): Promise<Cells> => {
    await createOutbox(place);
    await settleDown(place);
    const published = new Publications();
    const report = (orders: readonly number[]) => published.add([{ at: monotonicMs(), orders }]);
    const { app, stop } = await runApplication(
      OutboxPgModule.forRoot({ pool: place.pool }),
      inBatches(report),
    );
    const store = app.get(PgOutboxStore);
    const transact = (orders: readonly number[]) =>
      businessTransaction(place, orders, (client) => enqueue(store, client, orders));
    try {
      return cellsOf(await produceUnder(load, { transact }, published));
    } finally {
      await stop();
    }
  };
  return [{ line: postcommitSameProcess.name, columns: COLUMNS, seconds: 14, run }];
}
