import type { Arena } from '../arena.js';
import type { Producer } from '../producer.js';

export const KEYS = ['k0', undefined, 'k1', undefined];
/** Messages for each fault. */
const EACH = 20;

/** A producer is busy, with those who were started before, while one thing after another is done to the server or the wire. */
export async function underLoad(
  arena: Arena,
  what: string,
  faults: readonly (() => Promise<unknown>)[],
  producer: Producer = arena.producer(),
): Promise<void> {
  const doAll = async (): Promise<void> => {
    for (const [place, fault] of faults.entries()) {
      const soFar = place * EACH;
      await arena.until(`${soFar} were published`, async () => (await arena.delivered()) > soFar);
      await arena.fault(what, undefined, async () => {
        await fault();
      });
    }
  };
  // Together: a fault that can't be done must not leave a producer behind whose end nobody hears.
  await Promise.all([producer.produceMany(faults.length * EACH, KEYS), doAll()]);
  await arena.drained();
}

export function times(count: number, fault: () => Promise<unknown>): readonly (() => Promise<unknown>)[] {
  return Array.from({ length: count }, () => fault);
}
