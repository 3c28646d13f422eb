import { type Arena, type ChildOptions, LONG_CLAIM_MS } from '../arena.js';
import type { Scenario } from '../scenario.js';
import { KEYS } from './under-load.js';

const group = 'the server';

/** Three producers and three workers, which get into each other's way as often as they can. */
async function crowd(arena: Arena, options: ChildOptions): Promise<void> {
  const start = (role: 'worker' | 'producer') =>
    Promise.all([1, 2, 3].map(() => arena.start({ claimTimeoutMs: LONG_CLAIM_MS, ...options, role })));
  const [producers] = await Promise.all([start('producer'), start('worker')]);
  const order = { do: 'produce', count: arena.isShort ? 60 : 300, keys: KEYS } as const;
  await Promise.all(producers.map((producer) => producer.order(order)));
  await arena.drained();
}

/** A statement that meets another one's work is then refused: 40001, try again. */
const serializable: Scenario = {
  group,
  name: 'a database whose transactions are serializable by default',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const name = new URL(arena.url).pathname.slice(1);
    await arena.query(`alter database "${name}" set default_transaction_isolation = serializable`);
    await crowd(arena, { settings: { batchSize: 5 } });
  },
};

/** Claims, settles, extensions and notifications wait for each other. */
const onlyConnection: Scenario = {
  group,
  name: 'pools of one connection',
  rules: { duplicates: 'none' },
  run: (arena) => crowd(arena, { poolSize: 1 }),
};

export const crowdScenarios: readonly Scenario[] = [serializable, onlyConnection];
