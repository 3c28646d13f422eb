import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import type { Case, Cells, Setting } from '../case.js';
import { inKeptPlace } from '../kept-place.js';
import { type Latencies, produceUnder } from '../latencies.js';
import { joined, linesFor, scaled } from '../lines.js';
import { settleDown } from '../place.js';
import { Publications } from '../publications.js';
import { countStatements } from '../statement-count.js';
import { count, percentile } from '../statistics.js';
import { BESIDE, monotonicMs, type Place } from '../subject.js';
import { businessTransaction } from '../subjects/business-transaction.js';
import { entriesOf, inBatches, runApplication } from '../subjects/postcommit.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';

const EVERY_MS = 20;
const KEYS = 500;
/** BEGIN, the order, its message, COMMIT. */
const PRODUCED = 4;

/** How late the rows of other keys are beside one key whose head waits. */
export function crowdedKeyCase(setting: Setting): Case {
  const messages = scaled(setting, 1_000, 20);
  const parts = [10_000, 200_000, 1_000_000].map((full) => {
    const followers = scaled(setting, full);
    const [p99, statements] = columnsOf(followers);
    return linesFor(setting, [postcommitPg], [p99, statements], ['poisonHeads'], (subject) => ({
      seconds: 24 + full / 20_000,
      ...inKeptPlace(
        subject,
        async (open) => {
          await open.seed({ rows: followers + 1, keyOf: () => 'hot', firstOrder: BESIDE });
          await open.poisonHeads?.();
        },
        async (place, round) => {
          const { ms, sent, perSecond } = await besideTheCrowd(place, messages, round);
          const late =
            ms.length < sent ? `${count(ms.length)} of ${count(sent)} arrived` : percentile(ms, 0.99);
          return { [p99]: late, [statements]: perSecond } satisfies Cells;
        },
      ),
    }));
  });
  const columns = [10_000, 200_000, 1_000_000].flatMap((full) => columnsOf(scaled(setting, full)));
  return {
    id: 'crowded-key',
    title: 'Other keys beside one with many followers',
    about: `The first row of one key failed and waits for an hour, with so many due rows behind it. One message of other keys every ${EVERY_MS} ms, ${count(messages)} of them over ${count(KEYS)} keys, from sending COMMIT to the publisher's call in the same process; and all that the worker sends meanwhile, once it has passed the rows that wait.`,
    columns: columns.map((name) => ({
      name,
      unit: name.startsWith('p99') ? 'ms' : '1/s',
      isLessBetter: true,
    })),
    ...joined(parts),
    targets: columns
      .filter((name) => name.startsWith('p99'))
      .map((name) => ({ of: [postcommitPg.name, name], to: 50, atMost: 1 })),
  };
}

function columnsOf(followers: number): [string, string] {
  return [`p99, ${count(followers)} followers`, `statements, ${count(followers)} followers`];
}

async function besideTheCrowd(
  place: Place,
  messages: number,
  round: number,
): Promise<Latencies & { perSecond: number }> {
  await settleDown(place);
  const published = new Publications();
  const report = (orders: readonly number[]) => published.add([{ at: monotonicMs(), orders }]);
  const { app, stop } = await runApplication(OutboxPgModule.forRoot({ pool: place.pool }), inBatches(report));
  const store = app.get(PgOutboxStore);
  const transact = (orders: readonly number[]) =>
    businessTransaction(place, orders, (client) => {
      const key = `key-${round}-${(orders[0] ?? 0) % KEYS}`;
      return store.enqueueWith(
        client,
        entriesOf(orders).map((entry) => ({ ...entry, key })),
      );
    });
  try {
    const load = { transactions: messages, messagesEach: 1, everyMs: EVERY_MS, graceMs: 60_000 };
    let latencies: Latencies = { ms: [], sent: 0 };
    const startedAt = monotonicMs();
    const sent = await countStatements(async () => {
      latencies = await produceUnder(load, { transact }, published);
    });
    const seconds = (monotonicMs() - startedAt) / 1_000;
    return { ...latencies, perSecond: (sent - PRODUCED * messages) / seconds };
  } finally {
    await stop();
  }
}
