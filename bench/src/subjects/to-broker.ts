import { OutboxPgModule } from '@postcommit/store-pg';
import { brokers } from '../brokers/all.js';
import type { BenchBroker, OpenBroker } from '../brokers/broker.js';
import { reporting } from '../brokers/reporting-publisher.js';
import { BATCH_SIZE, type OpenSubject, orderOf, type Place, type Subject } from '../subject.js';
import { createOutbox, outboxTable } from './outbox-table.js';
import { runApplication } from './postcommit.js';

/** What is measured of one broker. */
export interface BrokerSubjects {
  readonly broker: BenchBroker;
  readonly ours: Subject;
  readonly naive: Subject;
  readonly limit: Subject;
}

export const brokerSubjects: readonly BrokerSubjects[] = brokers.map((broker) => ({
  broker,
  ours: subject(broker, 'to', `postcommit, to ${broker.name}`, {
    isOurs: true,
    settings: `an application with its worker, batches of 1,000, and the publisher of the package; ${broker.settings}`,
    consume: ({ pool }, { publisher }, report) =>
      runApplication(OutboxPgModule.forRoot({ pool }), {
        publisher: reporting(publisher, report),
        batchSize: BATCH_SIZE,
        ...(broker.concurrency !== undefined && { concurrency: broker.concurrency }),
      }),
  }),
  naive: subject(broker, 'naive', `${broker.name}, one confirmed send at a time`, {
    settings: 'an application with its worker, batches of 1,000, and a function that awaits each send',
    consume: ({ pool }, open, report) =>
      runApplication(OutboxPgModule.forRoot({ pool }), {
        publisher: async ({ id, payload }) => {
          await open.send({ id, body: JSON.stringify(payload) });
          report([orderOf(payload)]);
        },
        batchSize: BATCH_SIZE,
      }),
  }),
  limit: subject(broker, 'limit', `${broker.name}, a drain and pipelined sends`, {
    isLimit: true,
    settings:
      'the same rows drained by a publisher that does nothing, then sent by the client alone, 1,000 at a time: what is left if neither can be any faster',
  }),
}));

interface Kind extends Pick<Subject, 'settings' | 'isOurs' | 'isLimit'> {
  consume?(
    place: Place,
    open: OpenBroker,
    report: Parameters<NonNullable<OpenSubject['consume']>>[0],
  ): ReturnType<NonNullable<OpenSubject['consume']>>;
}

function subject(broker: BenchBroker, kind: string, name: string, { consume, ...rest }: Kind): Subject {
  return {
    ...rest,
    id: `broker-${kind}-${broker.id}`,
    name,
    isApart: true,
    absent: () => broker.absent(),
    prepare: createOutbox,
    cannot: { transact: 'only drains', claim: 'only drains' },
    open: (place) => openSubject(broker, place, consume),
  };
}

async function openSubject(
  broker: BenchBroker,
  place: Place,
  consume: Kind['consume'],
): Promise<OpenSubject> {
  // The benchmark's process makes the destination before its consumers are started, and removes it after they ended.
  const isBenchmark = process.env.BENCH_SUBJECT === undefined;
  if (isBenchmark) await broker.create(place.name);
  const open = isBenchmark ? undefined : await broker.open(place.name);
  return {
    ...outboxTable(place),
    ...(open && consume && { consume: (report) => consume(place, open, report) }),
    close: async () => {
      await open?.close();
      if (isBenchmark) await broker.remove(place.name);
    },
  };
}
