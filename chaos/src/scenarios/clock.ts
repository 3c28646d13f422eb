import { LONG_CLAIM_MS } from '../arena.js';
import type { Scenario } from '../scenario.js';

const group = 'the clock';
const KEYS = ['k0', undefined, 'k1', undefined];
const HOUR_MS = 3_600_000;
const FIVE_MINUTES_MS = 300_000;

/** The claim is short: an hour forward would have ended it, an hour back would keep it forever. */
const jumps: Scenario = {
  group,
  name: 'the clock of a process jumps forward by an hour and back',
  run: async (arena) => {
    const worker = await arena.start();
    const producer = await arena.start({ role: 'producer' });
    for (const [round, ms] of [HOUR_MS, 0, -HOUR_MS, 0].entries()) {
      await arena.fault('clock jump', worker, async () => {
        await worker.order({ do: 'shift the clock', ms });
        await producer.order({ do: 'shift the clock', ms: -ms });
      });
      await arena.produce(5, KEYS, `round-${round}`);
      await producer.order({ do: 'produce', count: 5, keys: KEYS });
      await arena.drained();
    }
  },
};

/** One process holds rows in its publish; for the other, whose clock is ahead, their claims are long over. */
const disagree: Scenario = {
  group,
  name: 'two processes whose clocks disagree by five minutes',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    await arena.produce(10, KEYS);
    const behind = await arena.start({
      stopAt: 'after the publish, before the ack',
      clockShiftMs: -FIVE_MINUTES_MS / 2,
      claimTimeoutMs: LONG_CLAIM_MS,
    });
    await behind.stopsAtPoint();
    await arena.start({ clockShiftMs: FIVE_MINUTES_MS / 2, claimTimeoutMs: LONG_CLAIM_MS });
    // Without keys: whichever of the two takes one, no other has to wait for it.
    await arena.produce(10, [undefined], 'later');
    await arena.until('all are published', async () => (await arena.delivered()) === 20);
    behind.send({ do: 'go on' });
    await arena.drained();
  },
};

export const clockScenarios: readonly Scenario[] = [jumps, disagree];
