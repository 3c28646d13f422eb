import { type Arena, type ChildOptions, LONG_CLAIM_MS } from '../arena.js';
import type { ChaosProcess } from '../process.js';
import type { Scenario } from '../scenario.js';
import type { StoreName } from '../subject.js';

const group = 'killed and stopped processes';
const KEYS = ['k0', 'k1', undefined, 'k2', undefined];

/** Of a worker, in the order it comes by. At each a row is in another half-way state. */
const WORKER_POINTS = [
  'after the claim',
  'in the publish, before its effect',
  'in the publish, after its effect',
  'after the publish, before the ack',
  'after the ack',
];

function killWorkerAt(point: string): Scenario {
  return {
    group,
    name: `SIGKILL ${point}`,
    run: async (arena) => {
      await arena.produce(20, KEYS);
      const [victim, standby] = [
        arena.launch({ stopAt: point }),
        arena.launch({ stopAt: 'before the claim' }),
      ];
      await Promise.all([victim.stopsAtPoint(), standby.stopsAtPoint()]);
      await arena.kill(victim);
      standby.send({ do: 'go on' });
      await arena.produce(10, KEYS, 'later');
      await arena.drained();
    },
  };
}

/** Nothing is reported to the ledger afterwards: only the business table shows whether the order exists. */
function killProducerAt(point: string, isCommitted: boolean): Scenario {
  return {
    group,
    name: `SIGKILL ${point}`,
    rules: { duplicates: 'none' },
    run: async (arena) => {
      const victim = arena.launch({ role: 'producer', stopAt: point });
      await arena.start({ claimTimeoutMs: LONG_CLAIM_MS });
      victim.send({ do: 'produce', count: 1, keys: ['k0'] });
      await victim.stopsAtPoint();
      await arena.kill(victim);
      await arena.produce(10, KEYS);
      await arena.drained();
      const found = await arena.query('select id from orders where id = $1', [`${victim.name}-0`]);
      arena.expect(found.length === Number(isCommitted), `I1: ${found.length} orders of the killed producer`);
    },
  };
}

/**
 * The process stands still in its publish until another one has taken over and published all, then goes on as if
 * nothing had happened. What it writes under its old claim must change nothing, and it must say so.
 */
function suspendAt(point: string): Scenario {
  return {
    group,
    name: `SIGSTOP ${point}, past the claim timeout, then SIGCONT`,
    run: async (arena) => {
      await arena.produce(12, KEYS);
      const sleeper = await arena.start({ stopAt: point });
      await sleeper.stopsAtPoint();
      const other = arena.launch();
      await arena.fault('SIGSTOP', sleeper, async () => {
        sleeper.suspend();
        await arena.drained();
        sleeper.send({ do: 'go on' });
        sleeper.resume();
      });
      await arena.until('the sleeper was fenced', async () => sleeper.heard('fenced').length > 0);
      await other.terminate();
      await arena.produce(8, KEYS, 'later');
      await arena.drained();
      const [row] = await arena.query<{ settled: number }>(
        'select count(*)::int as settled from outbox where dispatched_at is not null',
      );
      arena.expect(row?.settled === 20, `I3: ${row?.settled} of 20 rows are dispatched`);
    },
  };
}

/** The other one has taken over but not published yet: it is its row now, and the late ack must not touch it. */
const lateAck: Scenario = {
  group,
  name: 'SIGSTOP past the claim timeout, SIGCONT while the next owner publishes',
  run: async (arena) => {
    await arena.produce(1, ['k0']);
    const sleeper = await arena.start({ stopAt: 'in the publish, after its effect' });
    await sleeper.stopsAtPoint();
    // Its own claim is long, and its publish may last: nobody takes the row from it.
    const next = arena.launch({
      stopAt: 'in the publish, before its effect',
      claimTimeoutMs: LONG_CLAIM_MS,
      settings: { publishTimeoutMs: LONG_CLAIM_MS / 2 },
    });
    await arena.fault('SIGSTOP', sleeper, async () => {
      sleeper.suspend();
      await next.stopsAtPoint();
      sleeper.send({ do: 'go on' });
      sleeper.resume();
    });
    await arena.until('the sleeper was fenced', async () => sleeper.heard('fenced').length > 0);
    const untouched = await arena.query(
      'select id from outbox where dispatched_at is null and claimed_until > clock_timestamp() and retakes = 1',
    );
    arena.expect(untouched.length === 1, 'I3: the late ack changed a row that another process had claimed');
    next.send({ do: 'go on' });
    await arena.drained();
  },
};

/** Its neighbours were claimed with it and must outlive it. */
const killerMessage: Scenario = {
  group,
  name: 'a message that kills every process that publishes it',
  rules: { deadReasons: ['crashed'] },
  run: async (arena) => {
    const settings = { maxRetakes: 2 };
    await arena.produceAtOnce([
      { id: 'before' },
      { id: 'killer', fails: 'kills' },
      { id: 'after' },
      { id: 'last' },
    ]);
    await arena.fault('killed by a message', undefined, async () => {
      for (let deaths = 0; deaths <= settings.maxRetakes && (await hasPending(arena)); deaths++) {
        const worker = await arena.start({ settings });
        await arena.until(
          'it died, or nothing is left',
          async () => !worker.isAlive || !(await hasPending(arena)),
        );
        if (worker.isAlive) await worker.terminate();
      }
    });
    await arena.start({ settings });
    await arena.drained();
    const dead = await arena.query<{ order: string }>(
      `select payload->>'order' as order from outbox where dead_at is not null`,
    );
    arena.expect(dead.map(({ order }) => order).join() === 'killer', `I8: dead are ${JSON.stringify(dead)}`);
  },
};

/** Keys and rows without one, so many that every batch is full; each death leaves up to two of them behind. */
const killedInBacklog: Scenario = {
  group,
  name: 'SIGKILL again and again while a backlog of 50,000 drains',
  longOnly: true,
  run: async (arena) => {
    const [pages, pageSize, deaths] = [10, 5_000, 9];
    for (let page = 0; page < pages; page++) {
      const orders = Array.from({ length: pageSize }, (_, place) => ({
        id: `${page}-${place}`,
        key: place % 2 === 0 ? `k${place % 1_000}` : undefined,
      }));
      await arena.produceAtOnce(orders);
    }
    const options: ChildOptions = { batches: true, settings: { batchSize: 200, maxRetakes: 20 } };
    const workers = [1, 2, 3].map(() => arena.launch(options));
    for (let death = 1; death <= deaths; death++) {
      const soFar = (death * pages * pageSize) / (deaths + 1);
      await arena.until(`${soFar} were published`, async () => (await arena.delivered()) >= soFar);
      const victim = workers.shift() as ChaosProcess;
      await arena.kill(victim);
      workers.push(arena.launch(options));
    }
    await arena.drained();
  },
};

async function hasPending(arena: Arena): Promise<boolean> {
  return (await arena.pending()) > 0;
}

/** The same where an ORM holds the connections. */
function through(store: StoreName, orm: string): Scenario[] {
  const [first, ...others] = [
    killWorkerAt('after the publish, before the ack'),
    killWorkerAt('after the claim'),
    killProducerAt('before the business COMMIT', false),
    killProducerAt('after the business COMMIT', true),
  ].map((scenario): Scenario => ({ ...scenario, name: `${scenario.name} (${orm})`, store }));
  return [first as Scenario, ...others.map((scenario): Scenario => ({ ...scenario, longOnly: true }))];
}

export const killScenarios: readonly Scenario[] = [
  killProducerAt('before the business COMMIT', false),
  killProducerAt('after the business COMMIT', true),
  ...WORKER_POINTS.map(killWorkerAt),
  ...through('typeorm', 'TypeORM'),
  ...through('prisma', 'Prisma'),
  suspendAt('in the publish, before its effect'),
  suspendAt('in the publish, after its effect'),
  lateAck,
  killerMessage,
  killedInBacklog,
];
