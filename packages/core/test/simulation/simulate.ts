import { finalCheck } from './final-check.js';
import type { Violation } from './history.js';
import type { Mutant } from './mutant.js';
import { startOperators, startPauses, startProducers, startTrouble } from './people.js';
import { World } from './world.js';

export interface Simulated {
  readonly seed: number;
  readonly violation: Violation | undefined;
  /** What happened, in order; empty unless asked for. */
  readonly trace: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

/** The longest waits: a claim that expires, a worker that tries again, a backoff. */
const DRAIN_MS = 20_000;
/** A poison row needs up to five claims of six seconds, and a new process after each. */
const POISON_DRAIN_MS = 50_000;
/** A dead worker is noticed, and each time that a row is taken over it waits twice as long. */
const TAKEOVER_DRAIN_MS = 130_000;
/** Many more than any run takes: one that has not ended by then goes in circles. */
const MOST_STEPS = 60_000;

/** A phase with faults, a phase without, and the end. The same seed always runs the same way; a trace makes it readable. */
export async function simulate(
  seed: number,
  { mutant, isTraced = false }: { mutant?: Mutant; isTraced?: boolean } = {},
): Promise<Simulated> {
  const mend = mutant?.patch?.();
  const world = new World(seed, mutant, isTraced);
  try {
    await run(world);
  } finally {
    mend?.();
  }
  const { violation, lines, counts } = world.history;
  return { seed, violation, trace: lines, counts };
}

async function run(world: World): Promise<void> {
  const { weather, clock, hosts } = world;
  for (const host of hosts) host.boot();
  startProducers(world);
  startOperators(world);
  startTrouble(world);
  startPauses(world);
  await runUntil(world, () => clock.elapsedMs >= weather.badTimesMs);
  world.goodTimesCome();
  // Transactions and due times that still lie ahead.
  const quietMs = weather.badTimesMs + 8_000;
  await runUntil(world, () => clock.elapsedMs >= quietMs);
  const takeoverMs = world.isRegistered ? TAKEOVER_DRAIN_MS * (1 + 4 * weather.poison) : 0;
  const drainedMs = quietMs + DRAIN_MS + takeoverMs + weather.poison * POISON_DRAIN_MS;
  await runUntil(world, () => isDrained(world) || clock.elapsedMs >= drainedMs);
  const endMs = clock.elapsedMs + 2_000;
  await runUntil(world, () => clock.elapsedMs >= endMs);
  if (!world.history.violation) await finalCheck(world, (isDone) => runUntil(world, isDone));
}

async function runUntil({ clock, history }: World, isDone: () => boolean): Promise<void> {
  // A nudge makes sure that time continues if nothing else happens.
  for (let steps = 0; !isDone() && !history.violation; steps++) {
    if (steps > MOST_STEPS) history.violated('I7', 'it goes in circles');
    if (!(await clock.step())) clock.schedule(100, () => {});
  }
}

function isDrained({ table }: World): boolean {
  for (const row of table.rows())
    if (row.dispatchedAt === undefined && row.deadAt === undefined) return false;
  return true;
}
