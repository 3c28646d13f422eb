import type { Arena } from '../arena.js';
import type { Scenario } from '../scenario.js';

const FEW = 5_000;
const OTHER_KEYS = Array.from({ length: 40 }, (_, place) => `k${place}`);

/** One key's head waits while many rows are behind it: no other key may notice, whatever happens to the workers. */
function crowdedKey(followers: number, options: Pick<Scenario, 'longOnly'> = {}): Scenario {
  return {
    group: 'the data',
    name: `a key with ${followers.toLocaleString('en')} followers, whose head waits`,
    ...options,
    run: async (arena) => {
      const others = arena.isShort ? 100 : 1_000;
      await arena.produce(1, ['hot'], 'head');
      await arena.query(`update outbox set available_at = now() + interval '1 hour'`);
      await crowd(arena, arena.isShort ? FEW : followers);
      await arena.produce(100, ['hot'], 'follower');
      const [doomed] = [await arena.start(), await arena.start()];
      await arena.produce(others, OTHER_KEYS, 'first');
      await arena.kill(doomed);
      await arena.start();
      await arena.produce(others, OTHER_KEYS, 'second');
      await arena.until('all others were published', async () => (await arena.delivered()) === 2 * others);
      await arena.query(`delete from outbox where topic = 'crowd'`);
      await arena.query(`update outbox set available_at = now() where key = 'hot'`);
      await arena.drained();
    },
  };
}

/** Rows that nobody ordered, and that are taken away before their turn: a million orders would take an hour. */
async function crowd(arena: Arena, rows: number): Promise<void> {
  await arena.query(
    `insert into outbox (id, topic, payload, key)
     select 'crowd-' || n, 'crowd', '{}', 'hot' from generate_series(1, $1::int) n`,
    [rows],
  );
}

export const crowdedKeyScenarios: readonly Scenario[] = [
  crowdedKey(200_000),
  crowdedKey(1_000_000, { longOnly: true }),
];
