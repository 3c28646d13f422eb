import { median, rateOf } from './statistics.js';
import type { OpenSubject } from './subject.js';

/** The disk's speed changes within seconds: with and without take turns in short slices. */
const SLICES = 5;

export interface Pair {
  readonly withMessage: number;
  readonly without: number;
}

/** With and without the message in turns. */
export async function measurePairs(
  open: Pick<OpenSubject, 'transact' | 'left'>,
  concurrency: number,
  count: number,
): Promise<Pair[]> {
  let order = 0;
  const slice = (withMessage: boolean): Promise<number> =>
    rateOf(async () => {
      const each = Math.ceil(count / concurrency);
      const producer = async (): Promise<void> => {
        for (let done = 0; done < each; done++) {
          order += 1;
          await open.transact?.(withMessage ? [order] : []);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, producer));
      return each * concurrency;
    });
  const pairs: Pair[] = [];
  // The first pair opens connections and warms the caches.
  for (let round = 0; round <= SLICES; round++) {
    const pair = { without: await slice(false), withMessage: await slice(true) };
    if (round > 0) pairs.push(pair);
  }
  const expected = (SLICES + 1) * Math.ceil(count / concurrency) * concurrency;
  const left = await open.left();
  if (left !== expected) throw new Error(`${left} messages are there instead of ${expected}`);
  return pairs;
}

/** Transactions with the message per second, and for each without it. */
export function medianPair(pairs: readonly Pair[]): { readonly rate: number; readonly ratio: number } {
  return {
    rate: median(pairs.map(({ withMessage }) => withMessage)),
    ratio: median(pairs.map(({ withMessage, without }) => withMessage / without)),
  };
}
