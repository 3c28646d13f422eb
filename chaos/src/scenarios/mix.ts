import { setTimeout as pause } from 'node:timers/promises';
import { type Arena, type ChildOptions, SHORT_CLAIM_MS } from '../arena.js';
import type { ChaosProcess } from '../process.js';
import { pick, type Random, seededRandom, wholeBetween } from '../random.js';
import type { Scenario } from '../scenario.js';
import type { WireProxy } from '../wire-proxy.js';

const KEYS = Array.from({ length: 16 }, (_, place) => (place % 4 === 0 ? undefined : `k${place}`));
const SOON = { type: 'exponential', delayMs: 20, maxDelayMs: 200, jitter: 'full' } as const;

/** One step of the sequence: all that is drawn is drawn before the run, so that a seed replays it. */
export interface Step {
  readonly fault: string;
  /** Which worker, where it is about one. */
  readonly worker: number;
  readonly lastsMs: number;
  readonly thenMs: number;
}

interface Stage {
  readonly arena: Arena;
  readonly proxy: WireProxy;
  readonly workers: ChaosProcess[];
  readonly settings: ChildOptions;
}

const WORKERS = 3;

const FAULTS: Readonly<Record<string, (stage: Stage, step: Step) => Promise<void>>> = {
  SIGKILL: async ({ arena, workers, settings }, { worker }) => {
    await arena.kill(workers[worker] as ChaosProcess);
    workers[worker] = arena.launch(settings);
  },
  SIGTERM: async ({ arena, workers, settings }, { worker }) => {
    const victim = workers[worker] as ChaosProcess;
    await arena.fault('SIGTERM', victim, async () => {
      await victim.ready();
      await victim.terminate();
    });
    workers[worker] = arena.launch(settings);
  },
  SIGSTOP: async ({ arena, workers }, { worker, lastsMs }) => {
    const victim = workers[worker] as ChaosProcess;
    await arena.fault('SIGSTOP', victim, async () => {
      victim.suspend();
      await pause(lastsMs + SHORT_CLAIM_MS);
      victim.resume();
    });
  },
  terminate: async ({ arena }) => {
    await arena.fault('terminate', undefined, async () => {
      await arena.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
    });
  },
  restart: async ({ arena }) => {
    await arena.fault('restart', undefined, async () => arena.server?.restart('immediate'));
  },
  cut: async ({ arena, proxy }) => {
    await arena.fault('cut', undefined, async () => proxy.cut());
  },
  'cut after COMMIT': async ({ arena, proxy }, { lastsMs }) => {
    await arena.fault('cut after COMMIT', undefined, async () => {
      await Promise.race([
        proxy.cutAt((text) => /^commit|set dispatched_at|skip locked/i.test(text), 'answer'),
        pause(lastsMs),
      ]);
    });
  },
  delay: async ({ arena, proxy }, { lastsMs }) => {
    await arena.fault('delay', undefined, async () => {
      proxy.delay(30);
      await pause(lastsMs);
      proxy.delay(0);
    });
  },
  'half-open': async ({ arena, proxy }, { lastsMs }) => {
    await arena.fault('half-open', undefined, async () => {
      proxy.freeze();
      await pause(lastsMs);
      proxy.thaw();
      // As a kernel does after its own timeout: the silent ones end.
      proxy.cut();
    });
  },
  'failing publisher': async ({ arena, workers }, { worker, lastsMs }) => {
    const victim = workers[worker] as ChaosProcess;
    await arena.fault('failing publisher', victim, async () => {
      victim.send({ do: 'behave', behaviour: { kind: 'fail' } });
      await pause(lastsMs);
      victim.send({ do: 'behave', behaviour: { kind: 'deliver' } });
    });
  },
  'hanging publisher': async ({ arena, workers }, { worker, lastsMs }) => {
    const victim = workers[worker] as ChaosProcess;
    await arena.fault('hanging publisher', victim, async () => {
      victim.send({ do: 'behave', behaviour: { kind: 'hang', obeys: true, delivers: true } });
      await pause(lastsMs);
      victim.send({ do: 'behave', behaviour: { kind: 'deliver' } });
    });
  },
  'clock jump': async ({ workers }, { worker, lastsMs }) => {
    workers[worker]?.send({ do: 'shift the clock', ms: (lastsMs % 2 === 0 ? 1 : -1) * 3_600_000 });
  },
  'locked table': async ({ arena }, { lastsMs }) => {
    await arena.fault('locked table', undefined, async () => {
      const session = await arena.session();
      await session.query('begin').catch(() => {});
      await session.query('lock table outbox in exclusive mode').catch(() => {});
      await pause(lastsMs);
      await session.end().catch(() => {});
    });
  },
};

export const FAULT_NAMES: readonly string[] = Object.keys(FAULTS);

/** Every fault comes once before any comes again. */
export function sequenceOf(random: Random, length: number): Step[] {
  let left: string[] = [];
  return Array.from({ length }, () => {
    if (left.length === 0) left = [...FAULT_NAMES];
    const fault = pick(random, left as [string, ...string[]]);
    left = left.filter((name) => name !== fault);
    return {
      fault,
      worker: wholeBetween(random, 0, WORKERS - 1),
      lastsMs: wholeBetween(random, 100, 1_200),
      thenMs: wholeBetween(random, 0, 400),
    };
  });
}

export function mixOf(lengths: Readonly<Record<'short' | 'long', number>>): Scenario {
  return {
    group: 'a random mix',
    name: 'a random mix of faults under steady load',
    serverSettings: {},
    run: async (arena) => {
      const steps = sequenceOf(seededRandom(arena.options.seed), lengths[arena.options.form]);
      const proxy = await arena.proxy();
      const settings: ChildOptions = { databaseUrl: proxy.url, settings: { backoff: SOON, batchSize: 20 } };
      const workers = Array.from({ length: WORKERS }, () => arena.launch(settings));
      const stage: Stage = { arena, proxy, workers, settings };
      const producers = Array.from({ length: arena.isShort ? 2 : 3 }, () =>
        arena.launch({ role: 'producer', databaseUrl: proxy.url }),
      );
      await Promise.all([...workers, ...producers].map((process) => process.ready()));
      let isOver = false;
      const load = Promise.all(
        producers.map(async (producer) => {
          while (!isOver) await producer.order({ do: 'produce', count: 10, keys: KEYS });
        }),
      );
      const faults = (async () => {
        for (const step of steps) {
          await FAULTS[step.fault]?.(stage, step);
          await pause(step.thenMs);
        }
        isOver = true;
      })();
      await Promise.all([load, faults]);
      arena.calm();
      await arena.drained();
    },
  };
}

export const mixScenarios: readonly Scenario[] = [mixOf({ short: FAULT_NAMES.length, long: 60 })];
