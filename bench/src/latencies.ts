import { setTimeout } from 'node:timers/promises';
import { Consumers } from './consumers.js';
import { settleDown } from './place.js';
import { Publications } from './publications.js';
import { monotonicMs, type OpenSubject, type Place, type Subject } from './subject.js';
import { within } from './within.js';

export interface Load {
  readonly transactions: number;
  readonly messagesEach: number;
  /** Between the starts of two transactions; a slow one does not hold back the next. */
  readonly everyMs: number;
  /** How long a message may be late at the end. */
  readonly graceMs: number;
}

export interface Latencies {
  /** From sending COMMIT to the publisher's call. */
  readonly ms: readonly number[];
  readonly sent: number;
}

/** Producers here, a consumer in a process of its own. */
export async function measureLatencies(subject: Subject, place: Place, load: Load): Promise<Latencies> {
  const open = await subject.open(place);
  const published = new Publications();
  try {
    await settleDown(place);
    const consumers = await Consumers.open(subject, place, { processes: 1, onPublished: published.add });
    try {
      await consumers.start();
      const latencies = await Promise.race([produceUnder(load, open, published), consumers.failure()]);
      await consumers.stop();
      return latencies;
    } finally {
      await consumers.close();
    }
  } finally {
    await open.close();
  }
}

/** Runs while a consumer reports to `published`. */
export async function produceUnder(
  load: Load,
  producer: Pick<OpenSubject, 'transact'>,
  published: Publications,
): Promise<Latencies> {
  // What a consumer does when it starts is not what an idle one does.
  await setTimeout(1_000);
  const sentAt = await produce(producer, load);
  await within(load.graceMs, published.until(sentAt.size));
  return { ms: differences(sentAt, published), sent: sentAt.size };
}

async function produce(open: Pick<OpenSubject, 'transact'>, load: Load): Promise<Map<number, number>> {
  const { transactions, messagesEach, everyMs } = load;
  const sentAt = new Map<number, number>();
  const running: Promise<void>[] = [];
  const startedAt = monotonicMs();
  for (let index = 0; index < transactions; index++) {
    const wait = startedAt + index * everyMs - monotonicMs();
    if (wait > 0) await setTimeout(wait);
    const orders = Array.from({ length: messagesEach }, (_, offset) => index * messagesEach + offset);
    const work = async (): Promise<void> => {
      const at = await open.transact?.(orders);
      for (const order of orders) sentAt.set(order, at ?? Number.NaN);
    };
    running.push(work());
  }
  await Promise.all(running);
  return sentAt;
}

function differences(sentAt: ReadonlyMap<number, number>, published: Publications): number[] {
  return [...sentAt].flatMap(([order, sent]) => {
    const arrived = published.arrival(order);
    return arrived === undefined ? [] : [arrived - sent];
  });
}
