import type { BenchBroker } from '../brokers/broker.js';
import type { Case, Setting, Target } from '../case.js';
import { drain } from '../drain.js';
import { joined, linesFor, scaled, type TrialOf } from '../lines.js';
import { count, rateOf } from '../statistics.js';
import { BATCH_SIZE, payload } from '../subject.js';
import { pages } from '../subjects/outbox-table.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';
import { type BrokerSubjects, brokerSubjects } from '../subjects/to-broker.js';

const RATE = 'rows/s';

/** How fast a backlog reaches a real broker. */
export function brokersCase(setting: Setting): Case {
  const rows = scaled(setting, 50_000);
  const limitMs = scaled(setting, 10_000, 3_000);
  const draining: TrialOf = (subject) => ({
    seconds: 8,
    run: async (place, note) => {
      await subject.prepare(place);
      return { [RATE]: (await drain(subject, place, { rows, limitMs }, note)).rate };
    },
  });
  /** A row costs what its drain and its send cost. */
  const limitOf =
    (broker: BenchBroker): TrialOf =>
    () => ({
      seconds: 10,
      run: async (place, note) => {
        await postcommitPg.prepare(place);
        const drained = (await drain(postcommitPg, place, { rows, limitMs }, note)).rate;
        const sent = await pipelinedRate(broker, place.name, rows);
        note(`drained ${count(Math.round(drained))}, sent ${count(Math.round(sent))} rows/s`);
        return { [RATE]: 1 / (1 / drained + 1 / sent) };
      },
    });
  return {
    id: 'brokers',
    title: `${count(rows)} rows to a broker`,
    about:
      'As the drain, but each row is confirmed by a real broker on the same machine. The last line of each broker is a limit: the rows drained by a publisher that does nothing and then sent by the client alone, one after the other.',
    columns: [{ name: RATE, unit: 'rows/s' }],
    ...joined(
      brokerSubjects.flatMap(({ broker, ours, naive, limit }) => [
        linesFor(setting, [ours, naive], [RATE], [], draining),
        linesFor(setting, [limit], [RATE], [], limitOf(broker)),
      ]),
    ),
    targets: brokerSubjects.flatMap(targetsOf),
  };
}

function targetsOf({ broker, ours, naive, limit }: BrokerSubjects): Target[] {
  const part: Target = { of: [ours.name, RATE], to: [limit.name, RATE], atLeast: 0.7 };
  return broker.id === 'rabbitmq'
    ? [part, { of: [ours.name, RATE], to: [naive.name, RATE], atLeast: 10 }]
    : [part];
}

async function pipelinedRate(broker: BenchBroker, destination: string, rows: number): Promise<number> {
  await broker.create(destination);
  const open = await broker.open(destination);
  try {
    const batches = pages(rows, BATCH_SIZE).map((page) =>
      page.map((order) => ({ id: `order-${order}`, body: JSON.stringify(payload(order)) })),
    );
    return await rateOf(async () => {
      for (const batch of batches) await open.sendAll(batch);
      return rows;
    });
  } finally {
    await open.close();
    await broker.remove(destination);
  }
}
