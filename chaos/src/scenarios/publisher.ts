import type { Arena } from '../arena.js';
import { THROWN_NAMES } from '../child/ledger-publisher.js';
import type { Scenario } from '../scenario.js';

const group = 'the publisher';
const KEYS = ['k0', undefined, 'k1', undefined];
const SOON = { type: 'fixed', delayMs: 20 } as const;

/** Every second message fails forever; its key and all others continue without it. */
const alwaysFails: Scenario = {
  group,
  name: 'always fails, for every second message',
  rules: { deadReasons: ['exhausted'], maxAttempts: 3, duplicates: 'none' },
  run: async (arena) => {
    await arena.start({ settings: { maxAttempts: 3, backoff: SOON } });
    await arena.produceAtOnce(
      Array.from({ length: 40 }, (_, place) => ({
        id: `order-${place}`,
        key: KEYS[place % KEYS.length],
        ...(place % 8 < 4 && { fails: 'always' as const }),
      })),
    );
    await arena.drained();
    const tried = await arena.ledger.query<{ tries: number }>(
      `select count(*)::int as tries from publishes where outcome = 'failed' group by "rowId"`,
    );
    const isRight = tried.length === 20 && tried.every(({ tries }) => tries === 3);
    arena.expect(
      isRight,
      `I8: ${tried.length} poisoned rows were tried ${tried.map(({ tries }) => tries).join()} times`,
    );
  },
};

const HOUR_MS = 3_600_000;

/**
 * The hour is the database's: when every row waits for its next try, all of them are moved to when the first one is
 * due. The waits are those of production, doubling from a second to ten minutes.
 */
const failsForAnHour: Scenario = {
  group,
  name: 'fails for an hour',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const backoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: 600_000, jitter: 'equal' } as const;
    const worker = await arena.start({ behaviour: { kind: 'fail' }, settings: { backoff } });
    await arena.produce(10, KEYS);
    await arena.fault('fails for an hour', undefined, async () => {
      for (let passedMs = 0; passedMs < HOUR_MS; passedMs += await skipWait(arena));
      await worker.order({ do: 'behave', behaviour: { kind: 'deliver' } });
      await skipWait(arena);
    });
    await arena.produce(10, KEYS, 'later');
    await arena.until('all came through', async () => {
      // What failed last still waits, with its key behind it.
      await skipWait(arena);
      return (await arena.pending()) === 0;
    });
    await arena.drained();
  },
};

/** Gives by how much it moved. */
async function skipWait(arena: Arena): Promise<number> {
  const waiting = `dispatched_at is null and dead_at is null and claimed_until is null`;
  await arena.until('every row waits for its next try', async () => {
    const due = await arena.query(
      `select id from outbox o where dispatched_at is null and dead_at is null
         and (claimed_until is not null or available_at <= now())
         and not exists (
           select from outbox h where h.key = o.key and h.seq < o.seq and h.dispatched_at is null and h.available_at > now()
         ) limit 1`,
    );
    return due.length === 0;
  });
  const [wait] = await arena.query<{ ms: number | null }>(
    `select extract(epoch from min(available_at) - now())::float8 * 1000 as ms from outbox where ${waiting} and available_at > now()`,
  );
  const ms = Math.max(0, wait?.ms ?? 0);
  await arena.query(
    `update outbox set available_at = available_at - $1::float8 * interval '1 millisecond' where ${waiting}`,
    [ms],
  );
  return ms;
}

/** `obeys`: it ends when its signal aborts, and only the row is late. Else the worker has no slot until it ends. */
function hangs(obeys: boolean, delivers: boolean): Scenario {
  const how = delivers
    ? 'accepts and then times out'
    : `hangs, and ${obeys ? 'obeys' : 'ignores'} its signal`;
  return {
    group,
    name: how,
    run: async (arena) => {
      const behaviour = { kind: 'hang', obeys, delivers } as const;
      const worker = await arena.start({ behaviour, settings: { backoff: SOON, publishTimeoutMs: 200 } });
      await arena.produce(4, KEYS);
      await arena.fault('hangs', worker, async () => {
        const tries = obeys ? 4 : 1;
        await arena.until('it timed out', async () => (await failedTries(arena)) >= tries);
        await worker.order({ do: 'behave', behaviour: { kind: 'deliver' } });
      });
      await arena.produce(8, KEYS, 'later');
      await arena.drained();
    },
  };
}

async function failedTries(arena: Arena): Promise<number> {
  const [found] = await arena.query<{ attempts: number }>(
    'select coalesce(sum(attempts), 0)::int as attempts from outbox',
  );
  return found?.attempts ?? 0;
}

const throwsAnything: Scenario = {
  group,
  name: 'throws values that are not Errors',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const worker = await arena.start({ settings: { backoff: SOON } });
    for (const [place, thrown] of THROWN_NAMES.entries()) {
      await worker.order({ do: 'behave', behaviour: { kind: 'fail', thrown } });
      const before = await failedTries(arena);
      await arena.produce(2, ['k0', undefined], `order-${place}`);
      await arena.until(`it failed with ${thrown}`, async () => (await failedTries(arena)) > before + 1);
    }
    arena.calm();
    await worker.order({ do: 'behave', behaviour: { kind: 'deliver' } });
    await arena.drained();
  },
};

const PLACES = 10;

/** Once with a publisher of single rows, once with one of batches. Keys are shared, so that followers are at stake. */
function failsAtEveryPlace(batches: boolean): Scenario {
  return {
    group,
    name: `fails at each position of a batch, published ${batches ? 'at once' : 'one by one'}`,
    rules: { duplicates: 'none' },
    run: async (arena) => {
      const worker = await arena.start({
        batches,
        settings: { batchSize: PLACES, backoff: SOON, concurrency: batches ? 1 : 3 },
      });
      for (let bad = 0; bad < PLACES; bad++) {
        if (batches) await worker.order({ do: 'behave', behaviour: { kind: 'batch', failAt: bad } });
        await arena.produceAtOnce(
          Array.from({ length: PLACES }, (_, place) => ({
            id: `order-${bad}-${place}`,
            key: KEYS[place % KEYS.length],
            ...(!batches && place === bad && { fails: 1 }),
          })),
        );
        await arena.drained();
      }
    },
  };
}

const deliversThenFails: Scenario = {
  group,
  name: 'delivers and then throws',
  run: async (arena) => {
    const worker = await arena.start({
      behaviour: { kind: 'deliver, then fail' },
      settings: { backoff: SOON },
    });
    await arena.produce(8, KEYS);
    await arena.until('each failed', async () => (await failedTries(arena)) >= 8);
    arena.calm();
    await worker.order({ do: 'behave', behaviour: { kind: 'deliver' } });
    await arena.drained();
  },
};

export const publisherScenarios: readonly Scenario[] = [
  alwaysFails,
  failsForAnHour,
  hangs(true, false),
  hangs(false, false),
  hangs(true, true),
  deliversThenFails,
  throwsAnything,
  failsAtEveryPlace(false),
  failsAtEveryPlace(true),
];
