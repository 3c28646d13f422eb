import { setTimeout } from 'node:timers/promises';
import { Consumers } from './consumers.js';
import { settleDown } from './place.js';
import { Publications } from './publications.js';
import { monotonicMs, type OpenSubject, type Place, type Subject, type Workload } from './subject.js';
import { within } from './within.js';

export interface Drain extends Workload {
  readonly processes?: number;
  /** After which the rate so far is the result. */
  readonly limitMs: number;
  readonly measureHeap?: boolean;
  /** What else is in the table; it may stay there. */
  beside?(subject: OpenSubject): Promise<void>;
}

export interface Drained {
  /** Rows per second, from the first publish until none is left unsettled. */
  readonly rate: number;
  readonly heap: readonly number[];
  readonly peakMiB: number;
}

/** Fills the table, lets consumers in processes of their own empty it, and checks that they did. */
export async function drain(
  subject: Subject,
  place: Place,
  work: Drain,
  note: (text: string) => void,
): Promise<Drained> {
  const open = await subject.open(place);
  const published = new Publications();
  const { processes = 1, measureHeap = false } = work;
  const options = { processes, measureHeap, onPublished: published.add };
  try {
    await work.beside?.(open);
    await open.seed(work);
    await settleDown(place);
    const consumers = await Consumers.open(subject, place, options);
    try {
      await consumers.start();
      const all = published.until(work.rows).then(() => true);
      const inTime = await within(work.limitMs, Promise.race([all, consumers.failure()]));
      const publishedAt = monotonicMs();
      const endedAt = inTime && !work.beside ? await settledAt(open, subject, consumers) : publishedAt;
      const done = published.count;
      const { peakMiB } = await consumers.stop();
      if (published.count < work.rows && (await open.left()) === 0)
        throw new Error(`${subject.name} settled all, and published only ${published.count} of ${work.rows}`);
      if (!inTime) note(`stopped after ${work.limitMs / 1_000} s; the rate until then`);
      if (published.repeats > 0) note('some were published more than once');
      const seconds = (endedAt - (published.firstAt ?? endedAt)) / 1_000;
      return { rate: seconds > 0 ? done / seconds : 0, heap: published.heap, peakMiB };
    } finally {
      await consumers.close();
    }
  } finally {
    await open.close();
  }
}

/**
 * When none was left unsettled: a row that is published but not recorded as such is not done, and one that never gets
 * there was lost. The question that found none counts from when it was asked: how long a subject's own account takes
 * is not its consumers' time.
 */
async function settledAt(open: OpenSubject, subject: Subject, consumers: Consumers): Promise<number> {
  const deadline = monotonicMs() + 60_000;
  for (let askedAt = monotonicMs(); ; askedAt = monotonicMs()) {
    if ((await Promise.race([open.left(), consumers.failure()])) === 0) return askedAt;
    if (askedAt > deadline) throw new Error(`${subject.name} published all, and left rows unsettled`);
    await setTimeout(5);
  }
}
