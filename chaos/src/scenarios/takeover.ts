import { setTimeout as pause } from 'node:timers/promises';
import type { Arena, ChildOptions } from '../arena.js';
import type { WorkerSettings } from '../messages.js';
import type { ChaosProcess } from '../process.js';
import type { Scenario } from '../scenario.js';

const group = 'killed and stopped processes';
const KEYS = ['k0', undefined, 'k1', undefined, 'k2', undefined];
const HOUR_MS = 3_600_000;
/** Of the publisher. */
const PUBLISH_MS = 100;
/** A row is published again within this time after its worker was killed. */
const BACK_MS = { short: 30_000, long: 45_000 };
/** Longer than a takeover takes. */
const FROZEN_MS = { short: 10_000, long: 60_000 };

/** The defaults, but for the short form: a takeover after 6 s instead of 35. */
function settings({ isShort }: Arena): WorkerSettings {
  const usual = { pollIntervalMs: 1_000, batchSize: 50 };
  return isShort
    ? { ...usual, takeoverAfterMs: 1_000, publishTimeoutMs: 1_000 }
    : { ...usual, publishTimeoutMs: 30_000 };
}

/** Claims last five minutes: within the time of a scenario nothing expires by itself. */
function slowWorker(arena: Arena, options: ChildOptions = {}): Promise<ChaosProcess> {
  return arena.start({
    claimTimeoutMs: 300_000,
    behaviour: { kind: 'deliver slowly', ms: PUBLISH_MS },
    settings: settings(arena),
    ...options,
  });
}

/** Both have claimed rows and are in the middle of them. */
async function busy(arena: Arena, workers: number, rows: number): Promise<ChaosProcess[]> {
  const started = await Promise.all(Array.from({ length: workers }, () => slowWorker(arena)));
  await arena.produce(rows, KEYS);
  await arena.until('rows are published', async () => (await arena.delivered()) >= 5);
  return started;
}

async function backInTime(arena: Arena): Promise<void> {
  await arena.drained();
  const most = BACK_MS[arena.options.form];
  arena.expect(
    (arena.recoveryMs ?? Number.POSITIVE_INFINITY) < most,
    `I7: the rows of the killed worker took ${Math.round(arena.recoveryMs ?? Number.NaN)} ms, more than ${most}`,
  );
}

/** Rows that were published again: the one on its way, and those published since the last settle. */
async function expectFewAgain(arena: Arena, killed: number): Promise<void> {
  const [found] = await arena.ledger.query<{ again: number }>(
    `select count(*)::int as again from (
       select "rowId" from publishes where outcome = 'delivered' group by "rowId" having count(*) > 1
     ) twice`,
  );
  arena.expect((found?.again ?? 0) <= 11 * killed, `${found?.again} rows were published again`);
}

const killed: Scenario = {
  group,
  name: 'SIGKILL in the middle of slow batches: another worker takes over',
  run: async (arena) => {
    const [victim] = (await busy(arena, 2, 80)) as [ChaosProcess];
    await arena.kill(victim);
    await backInTime(arena);
    await expectFewAgain(arena, 1);
  },
};

const halfOfAFleet: Scenario = {
  group,
  name: 'SIGKILL of half a fleet',
  longOnly: true,
  run: async (arena) => {
    const fleet = await busy(arena, 6, 200);
    await arena.fault('SIGKILL', undefined, async () => {
      await Promise.all(fleet.slice(0, 3).map((worker) => worker.kill()));
    });
    await backInTime(arena);
    await expectFewAgain(arena, 3);
  },
};

const wholeFleet: Scenario = {
  group,
  name: 'SIGKILL of all workers, then a new one starts',
  longOnly: true,
  run: async (arena) => {
    const fleet = await busy(arena, 2, 50);
    await arena.fault('SIGKILL', undefined, async () => {
      await Promise.all(fleet.map((worker) => worker.kill()));
    });
    await slowWorker(arena);
    await backInTime(arena);
  },
};

const frozen: Scenario = {
  group,
  name: 'SIGSTOP for longer than a takeover takes: the worker comes back to fences',
  run: async (arena) => {
    const [sleeper, other] = (await busy(arena, 2, 60)) as [ChaosProcess, ChaosProcess];
    await arena.fault('SIGSTOP', sleeper, async () => {
      sleeper.suspend();
      await pause(FROZEN_MS[arena.options.form]);
      await arena.drained();
      sleeper.resume();
    });
    await arena.until('the sleeper noticed', async () => sleeper.heardTimes('declaredLost') > 0);
    arena.expect(other.heardTimes('workerLost') > 0, 'the other worker did not take over');
    await arena.produce(10, KEYS, 'later');
    await arena.drained();
  },
};

/** It is alive and goes on publishing, until it must assume that others take over. */
const cutOff: Scenario = {
  group: 'the wire',
  name: 'a worker is cut off from the database and lives: it stops before others take over',
  run: async (arena) => {
    const proxy = await arena.proxy();
    const lonely = await slowWorker(arena, {
      databaseUrl: proxy.url,
      behaviour: { kind: 'hang', obeys: true, delivers: false },
    });
    await arena.produce(20, KEYS);
    await arena.until('it has claimed', async () => (await claimed(arena)) > 0);
    const other = await slowWorker(arena);
    await arena.fault('nothing passes', lonely, async () => {
      proxy.freeze();
      await arena.drained();
      arena.expect(other.heardTimes('workerLost') > 0, 'the other worker did not take over');
      proxy.thaw();
      proxy.cut();
    });
    await arena.until('it noticed', async () => lonely.heardTimes('declaredLost') > 0);
    await lonely.order({ do: 'behave', behaviour: { kind: 'deliver' } });
    await arena.produce(10, KEYS, 'later');
    await arena.drained();
  },
};

async function claimed(arena: Arena): Promise<number> {
  const [found] = await arena.query<{ claimed: number }>(
    'select count(*)::int as claimed from outbox where claim_token is not null and dispatched_at is null',
  );
  return found?.claimed ?? 0;
}

const nobodyIsAnswered: Scenario = {
  group: 'the wire',
  name: 'the database answers no worker for longer than a takeover takes: none is taken over',
  run: async (arena) => {
    const proxy = await arena.proxy();
    const workers = await Promise.all([1, 2, 3].map(() => slowWorker(arena, { databaseUrl: proxy.url })));
    await arena.produce(40, KEYS);
    await arena.until('rows are published', async () => (await arena.delivered()) >= 5);
    await arena.fault('nobody is answered', undefined, async () => {
      proxy.freeze();
      await pause(arena.isShort ? 8_000 : 40_000);
      proxy.thaw();
      proxy.cut();
    });
    await arena.drained();
    await pause(arena.isShort ? 8_000 : 40_000);
    for (const worker of workers)
      arena.expect(worker.heardTimes('workerLost') === 0, `${worker.name} took another one over`);
  },
};

const clocksApart: Scenario = {
  group: 'the clock',
  name: 'three workers whose clocks are an hour apart: none is taken over but the one that is killed',
  run: async (arena) => {
    const [victim, ...others] = (await Promise.all(
      [-HOUR_MS, 0, HOUR_MS].map((clockShiftMs) => slowWorker(arena, { clockShiftMs })),
    )) as [ChaosProcess, ...ChaosProcess[]];
    await arena.produce(60, KEYS);
    await pause(arena.isShort ? 7_000 : 40_000);
    for (const worker of [victim, ...others])
      arena.expect(worker.heardTimes('workerLost') === 0, `${worker.name} took another one over`);
    await arena.produce(40, KEYS, 'later');
    await arena.kill(victim);
    await backInTime(arena);
  },
};

export const takeoverScenarios: readonly Scenario[] = [
  killed,
  halfOfAFleet,
  wholeFleet,
  frozen,
  cutOff,
  nobodyIsAnswered,
  clocksApart,
];
