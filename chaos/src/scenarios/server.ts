import { type Arena, LONG_CLAIM_MS, type Session, SHORT_CLAIM_MS } from '../arena.js';
import type { ChaosProcess } from '../process.js';
import type { Scenario } from '../scenario.js';
import { KEYS, times, underLoad } from './under-load.js';

const group = 'the server';
const TERMINATE_ALL = `
  select count(pg_terminate_backend(pid)) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/** With one worker. */
async function again(arena: Arena, what: string, count: number, harm: () => Promise<unknown>): Promise<void> {
  await arena.start();
  await underLoad(arena, what, times(count, harm));
}

const terminated: Scenario = {
  group,
  name: 'pg_terminate_backend of all connections',
  run: (arena) => again(arena, 'terminated', arena.isShort ? 3 : 10, () => arena.query(TERMINATE_ALL)),
};

const restarted: Scenario = {
  group,
  name: 'immediate restart under load',
  serverSettings: {},
  run: (arena) =>
    again(arena, 'restart', arena.isShort ? 1 : 4, async () => arena.server?.restart('immediate')),
};

/** The claim is waiting for a lock of the test when the server goes down. */
function restartedDuringClaim(key: string | undefined): Scenario {
  return {
    group,
    name: `immediate restart during a claim ${key === undefined ? 'without keys' : 'of keys'}`,
    serverSettings: {},
    run: async (arena) => {
      await arena.produce(20, [key]);
      const worker = await arena.start({ stopAt: 'before the claim' });
      await worker.stopsAtPoint();
      await lockTable(arena);
      worker.send({ do: 'go on' });
      await waitsForLock(arena);
      await arena.fault('restart', undefined, async () => arena.server?.restart('immediate'));
      await arena.drained();
    },
  };
}

const connectionsUsedUp: Scenario = {
  group,
  name: 'max_connections reached',
  serverSettings: { max_connections: '25', superuser_reserved_connections: '0', reserved_connections: '0' },
  run: async (arena) => {
    const worker = await arena.start();
    await arena.produce(10, KEYS);
    await arena.drained();
    await arena.fault('no connection left', undefined, async () => {
      const hogs = [await arena.session(HOG)];
      // Whoever is cut off comes back at once, unless somebody is quicker: until it is us who have all.
      while (worker.heardTimes('trouble') < 2) {
        hogs.push(...(await allThatAreLeft(arena)));
        await hogs[0]?.query(TERMINATE_OTHERS);
      }
      for (const hog of hogs) await hog.end();
    });
    await arena.produce(20, KEYS, 'later');
    await arena.drained();
  },
};

const HOG = 'hog';
const TERMINATE_OTHERS = `
  select count(pg_terminate_backend(pid)) from pg_stat_activity
  where datname = current_database() and application_name <> '${HOG}'`;

async function allThatAreLeft(arena: Arena): Promise<Session[]> {
  const taken: Session[] = [];
  for (;;) {
    const session = await arena.session(HOG).catch(() => undefined);
    if (!session) return taken;
    taken.push(session);
  }
}

/** The table is locked by somebody else for longer than a statement may take: at the claim, and at the ack. */
function timedOut(setting: 'statement_timeout' | 'lock_timeout'): Scenario {
  return {
    group,
    name: `${setting} at the claim and at the ack`,
    // The ack is repeated while its claim lives, so nothing is published twice.
    rules: { duplicates: 'none' },
    run: async (arena) => {
      await arena.query(`alter database "${new URL(arena.url).pathname.slice(1)}" set ${setting} = '100ms'`);
      await arena.produce(10, KEYS);
      const worker = await arena.start({
        stopAt: 'after the publish, before the ack',
        claimTimeoutMs: LONG_CLAIM_MS,
      });
      await worker.stopsAtPoint();
      await arena.fault(setting, undefined, () => lockedUntilTrouble(arena, worker));
      await arena.drained();
      await arena.fault(setting, undefined, async () => {
        await Promise.all([arena.produce(10, KEYS, 'later'), lockedUntilTrouble(arena, worker)]);
      });
      await arena.drained();
    },
  };
}

async function lockedUntilTrouble(arena: Arena, worker: ChaosProcess): Promise<void> {
  const before = worker.heardTimes('trouble');
  const unlock = await lockTable(arena);
  worker.send({ do: 'go on' });
  await arena.until('the worker is in trouble', async () => worker.heardTimes('trouble') > before + 1);
  await unlock();
}

const readOnly: Scenario = {
  group,
  name: 'a server that becomes read-only',
  serverSettings: {},
  rules: { duplicates: 'none' },
  run: async (arena) => {
    await arena.produce(10, KEYS);
    const worker = await arena.start({
      stopAt: 'after the publish, before the ack',
      claimTimeoutMs: LONG_CLAIM_MS,
    });
    await worker.stopsAtPoint();
    const operator = await arena.session();
    await operator.query('set default_transaction_read_only = off');
    await arena.fault('read-only', undefined, async () => {
      await operator.query('alter system set default_transaction_read_only = on');
      await operator.query('select pg_reload_conf()');
      await arena.until('sessions are read-only', async () => {
        const [shown] = await arena.query<{ default_transaction_read_only: string }>(
          'show default_transaction_read_only',
        );
        return shown?.default_transaction_read_only === 'on';
      });
      worker.send({ do: 'go on' });
      await arena.until('the worker is in trouble', async () => worker.heardTimes('trouble') > 1);
      await operator.query('alter system reset default_transaction_read_only');
      await operator.query('select pg_reload_conf()');
    });
    await arena.produce(10, KEYS, 'later');
    await arena.drained();
  },
};

/** The application itself holds every connection while the worker has rows to settle. */
function fullPool(connectTimeoutMs: number | undefined): Scenario {
  return {
    group,
    name: `an exhausted pool ${connectTimeoutMs === undefined ? 'without' : 'with'} a connection timeout`,
    run: async (arena) => {
      await arena.produce(10, KEYS);
      const worker = await arena.start({
        stopAt: 'after the publish, before the ack',
        poolSize: 2,
        ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
      });
      await worker.stopsAtPoint();
      await arena.fault('no connection free', worker, async () => {
        await worker.order({ do: 'hold the pool' });
        worker.send({ do: 'go on' });
        await arena.until('its claims expired', async () => (await liveClaims(arena)) === 0);
        await worker.order({ do: 'free the pool' });
        arena.calm();
        // What stood in the queue for a connection belongs to the fault: a claim that waited there is old when it comes.
        await arena.drained();
      });
      await arena.produce(10, KEYS, 'later');
      await arena.drained();
    },
  };
}

/**
 * As long as several claims last. Rows without a key are claimed outside the pool: without settles, whoever went on
 * claiming would publish them again and again, until they counted as those that kill their process.
 */
const poolHeld: Scenario = {
  group,
  name: 'the application holds the whole pool for longer than rows may be retaken',
  longOnly: true,
  run: async (arena) => {
    const worker = await arena.start({ poolSize: 2, settings: { maxRetakes: 2 } });
    await arena.produce(5);
    await arena.drained();
    await arena.fault('no connection free', worker, async () => {
      await worker.order({ do: 'hold the pool' });
      await arena.produce(10, [undefined], 'meanwhile');
      const untilMs = performance.now() + 5 * SHORT_CLAIM_MS;
      await arena.until('claims had time to expire', async () => performance.now() > untilMs);
      await worker.order({ do: 'free the pool' });
      arena.calm();
      await arena.drained();
    });
    const dead = await arena.query('select id from outbox where dead_at is not null');
    arena.expect(dead.length === 0, `I2: ${dead.length} rows are dead that were published`);
  },
};

/** Whoever listens claims on the same connection; the pool is not touched. */
const listenersEnded: Scenario = {
  group,
  name: 'listener connections are terminated, again and again',
  run: (arena) =>
    again(arena, 'terminated', arena.isShort ? 3 : 10, () =>
      arena.query(
        `select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()
           and (query ~ 'skip locked' or query ~ '^listen')`,
      ),
    ),
};

async function liveClaims(arena: Arena): Promise<number> {
  const rows = await arena.query(
    'select id from outbox where dispatched_at is null and claimed_until > clock_timestamp()',
  );
  return rows.length;
}

/** Gives the way to unlock it. */
async function lockTable(arena: Arena): Promise<() => Promise<void>> {
  const session = await arena.session();
  await session.query('set statement_timeout = 0; set lock_timeout = 0');
  await session.query('begin');
  await session.query('lock table outbox in exclusive mode');
  return async () => {
    await session.query('commit');
  };
}

async function waitsForLock(arena: Arena): Promise<void> {
  await arena.until('a claim waits for the lock', async () => {
    const waiting = await arena.query(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query ~ 'skip locked'`,
    );
    return waiting.length > 0;
  });
}

export const serverScenarios: readonly Scenario[] = [
  terminated,
  restarted,
  restartedDuringClaim(undefined),
  { ...restartedDuringClaim('k0'), longOnly: true },
  connectionsUsedUp,
  timedOut('statement_timeout'),
  timedOut('lock_timeout'),
  readOnly,
  fullPool(200),
  fullPool(undefined),
  poolHeld,
  listenersEnded,
];
