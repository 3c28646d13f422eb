import { LONG_CLAIM_MS, SHORT_CLAIM_MS } from '../arena.js';
import type { Scenario } from '../scenario.js';

const group = 'roll-out';
const KEYS = ['k0', undefined, 'k1', 'k2', undefined];

/** The one with the short claims must not take what the other one still holds: each claim says itself how long it lives. */
const twoConfigurations: Scenario = {
  group,
  name: 'two configurations at once',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    await arena.produce(10, KEYS);
    const old = await arena.start({
      stopAt: 'after the publish, before the ack',
      claimTimeoutMs: LONG_CLAIM_MS,
      settings: { batchSize: 5, concurrency: 1 },
    });
    await old.stopsAtPoint();
    const young = await arena.start({
      claimTimeoutMs: SHORT_CLAIM_MS,
      settings: { batchSize: 50, concurrency: 4, pollIntervalMs: 20 },
    });
    await arena.produce(20, [undefined, 'k7', 'k8'], 'later');
    // The clock of the database passes the short timeout while the long claim lives.
    const [held] = await arena.query<{ since: Date }>('select now() as since');
    await arena.until('the short timeout has passed', async () => {
      const [time] = await arena.query<{ isOver: boolean }>(
        `select now() > $1::timestamptz + ${SHORT_CLAIM_MS} * interval '1 millisecond' as "isOver"`,
        [held?.since],
      );
      return time?.isOver === true;
    });
    old.send({ do: 'go on' });
    await arena.drained();
    arena.expect(young.heard('retaken').length === 0, 'I4: the young one took what the old one held');
  },
};

/** A process that is asked to end releases what it has not started, and leaves nothing half done. */
const scaled: Scenario = {
  group,
  name: 'scaled from 1 to 8 and back under load, by SIGTERM',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const most = arena.isShort ? 4 : 8;
    const options = { claimTimeoutMs: LONG_CLAIM_MS, settings: { batchSize: 10 } };
    const first = await arena.start(options);
    let isOver = false;
    const keys = Array.from({ length: 12 }, (_, place) => (place % 3 === 0 ? undefined : `k${place}`));
    const load = (async () => {
      for (let round = 0; !isOver; round++) await arena.produce(10, keys, `load-${round}`);
    })();
    const more = Array.from({ length: most - 1 }, () => arena.launch(options));
    await Promise.all(more.map((worker) => worker.ready()));
    await arena.fault('SIGTERM', undefined, async () => {
      for (const worker of more) {
        await worker.terminate();
        arena.expect(worker.exitCode === 0, `I11: ${worker.name} ended with ${worker.exitCode}`);
        arena.expect(
          worker.abandoned?.length === 0,
          `I11: ${worker.name} abandoned ${worker.abandoned?.length ?? 'who knows what'}`,
        );
      }
      isOver = true;
      await load;
    });
    await arena.drained();
    await first.terminate();
    arena.expect(first.exitCode === 0, `I11: ${first.name} ended with ${first.exitCode}`);
  },
};

const emptyDatabase: Scenario = {
  group,
  name: 'instances that start at once on an empty database',
  rules: { duplicates: 'none' },
  withoutTables: true,
  run: async (arena) => {
    const options = { ensures: true, claimTimeoutMs: LONG_CLAIM_MS };
    const instances = Array.from({ length: arena.isShort ? 2 : 6 }, () => arena.launch(options));
    await Promise.all(instances.map((instance) => instance.ready()));
    await arena.produce(20, KEYS);
    await arena.drained();
  },
};

export const rollOutScenarios: readonly Scenario[] = [twoConfigurations, scaled, emptyDatabase];
