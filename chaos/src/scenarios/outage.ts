import { setTimeout as pause } from 'node:timers/promises';
import type { Arena } from '../arena.js';
import { Broker } from '../broker.js';
import type { Scenario } from '../scenario.js';

const group = 'the publisher';
const KEYS = ['k0', undefined, 'k1', undefined, 'k2'];
const AWAY_MS = { short: 3_000, long: 30_000 };

/** Two counted tries would kill a row, and an outage has many more. */
const SETTINGS = { maxAttempts: 2, concurrency: 4, backoff: { type: 'fixed', delayMs: 20 } } as const;

/** The broker is a process. While it is gone, messages keep coming and a worker is killed. */
const brokerGoesAway: Scenario = {
  group,
  name: 'its broker is killed under load and restarted, and a worker is killed meanwhile',
  run: async (arena) => {
    const broker = await Broker.start();
    try {
      const behaviour = { kind: 'send', port: broker.port } as const;
      const start = () => arena.start({ behaviour, settings: SETTINGS });
      const [victim] = await Promise.all([start(), start()]);
      await arena.produce(30, KEYS, 'before');
      await arena.fault('the broker is away', undefined, async () => {
        const load = arena.produce(60, KEYS, 'meanwhile');
        await broker.kill();
        await load;
        await pause(AWAY_MS[arena.options.form] / 2);
        await arena.kill(victim);
        await start();
        await pause(AWAY_MS[arena.options.form] / 2);
        arena.expect((await arena.pending()) > 0, 'the broker was not away: nothing is pending');
        await broker.restart();
      });
      await arena.produce(10, KEYS, 'after');
      await arena.drained();
      await expectNoAttempts(arena);
    } finally {
      await broker.kill();
    }
  },
};

/** Looks like an outage each time, also to the messages beside it. */
const cutsConnections: Scenario = {
  group,
  name: 'its broker cuts every connection at one message: that one ends dead, and no other',
  rules: { deadReasons: ['exhausted'] },
  run: async (arena) => {
    const broker = await Broker.start();
    try {
      const behaviour = { kind: 'send', port: broker.port } as const;
      await Promise.all(
        [1, 2].map(() => arena.start({ behaviour, settings: { ...SETTINGS, maxAttempts: 5 } })),
      );
      await arena.produce(20, KEYS, 'before');
      await arena.produceAtOnce([
        { id: 'poison', key: 'k0', fails: 'cuts' },
        { id: 'behind it', key: 'k0' },
      ]);
      // Nothing but the success of others tells it from an outage.
      let waves = 0;
      await arena.until('a row is dead', async () => {
        waves += 1;
        await arena.produce(arena.isShort ? 10 : 50, KEYS, `wave-${waves}`);
        const [found] = await arena.query('select 1 from outbox where dead_at is not null');
        return found !== undefined;
      });
      await arena.drained();
      const dead = await arena.query<{ fails: string }>(
        `select payload->>'fails' as fails from outbox where dead_at is not null`,
      );
      const found = JSON.stringify(dead.map(({ fails }) => fails));
      arena.expect(found === '["cuts"]', `the dead rows are ${found}`);
    } finally {
      await broker.kill();
    }
  },
};

const BACKLOG = 100_000;
/** Two workers, each of which polls once a second, asks for due rows, says that it is alive and tries a row at times. */
const MOST_STATEMENTS_A_MINUTE = 600;

const longOutage: Scenario = {
  group,
  name: 'its broker is away for two minutes while 100,000 rows wait',
  longOnly: true,
  run: async (arena) => {
    const broker = await Broker.start();
    try {
      const settings = { ...SETTINGS, concurrency: 20, batchSize: 500, pollIntervalMs: 1_000 };
      const start = () => arena.start({ behaviour: { kind: 'send', port: broker.port }, settings });
      await arena.fault('the broker is away', undefined, async () => {
        await broker.kill();
        await Promise.all([start(), start()]);
        const orders = Array.from({ length: BACKLOG }, (_, place) => ({ id: `waiting-${place}` }));
        for (let place = 0; place < BACKLOG; place += 5_000)
          await arena.produceAtOnce(orders.slice(place, place + 5_000));
        await pause(30_000);
        const before = await transactions(arena);
        await pause(60_000);
        const aMinute = (await transactions(arena)) - before;
        arena.expect(
          aMinute <= MOST_STATEMENTS_A_MINUTE,
          `${aMinute} transactions in a minute of the outage`,
        );
        await broker.restart();
      });
      await arena.drained();
      await expectNoAttempts(arena);
    } finally {
      await broker.kill();
    }
  },
};

async function transactions(arena: Arena): Promise<number> {
  const [found] = await arena.query<{ count: number }>(
    'select xact_commit::int + xact_rollback::int as count from pg_stat_database where datname = current_database()',
  );
  return found?.count ?? 0;
}

async function expectNoAttempts(arena: Arena): Promise<void> {
  const counted = await arena.query<{ id: string }>('select id from outbox where attempts > 0');
  arena.expect(counted.length === 0, `I8: the outage counted attempts on ${counted.length} rows`);
}

export const outageScenarios: readonly Scenario[] = [brokerGoesAway, cutsConnections, longOutage];
