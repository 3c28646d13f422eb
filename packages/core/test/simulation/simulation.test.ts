import { describe, expect, it } from 'vitest';
import { MUTANTS } from './mutants.js';
import { type Simulated, simulate } from './simulate.js';

/**
 * `SEED=7 npx vitest run packages/core/test/simulation` replays one run and prints what happened in it.
 * Nightly: `SIMULATION_SEEDS=10000 npx vitest run packages/core/test/simulation`; `SIMULATION_FROM` begins elsewhere.
 */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 300);
const FROM = Number(process.env.SIMULATION_FROM ?? 1);
/** As many as a run in CI has, however many are asked for: a mutant must not need a night. */
const MUTANT_SEEDS = 500;
const replayed = process.env.SEED === undefined ? undefined : Number(process.env.SEED);
const TIMEOUT_MS = 60_000 + SEEDS * 200;

describe.skipIf(replayed !== undefined)('dispatchers and workers in a world where everything fails', () => {
  it(
    `keep the promises, ${SEEDS} seeds`,
    async () => {
      const counts = new Map<string, number>();
      const broken: Simulated[] = [];
      for (let seed = FROM; seed < FROM + SEEDS; seed++) {
        const run = await simulate(seed);
        if (run.violation) broken.push(run);
        for (const [what, count] of run.counts) counts.set(what, (counts.get(what) ?? 0) + count);
      }
      expect(await report(broken)).toBe('');
      // A world in which nothing goes wrong would prove nothing.
      for (const what of EVERYTHING) expect(counts.get(what), what).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  it('run the same way again with the same seed', async () => {
    const first = await simulate(FROM, { isTraced: true });
    const second = await simulate(FROM, { isTraced: true });
    expect(second.trace).toEqual(first.trace);
    expect(first.trace.length).toBeGreaterThan(20);
  });
});

if (replayed !== undefined) {
  it(`replays seed ${replayed}`, async () => {
    const { trace, violation } = await simulate(replayed, { isTraced: true });
    process.stdout.write(`${trace.join('\n')}\n`);
    expect(violation).toBeUndefined();
  });
}

describe.skipIf(replayed !== undefined)('a broken engine is detected', () => {
  it.each(MUTANTS)(
    'one that $name',
    async (mutant) => {
      for (let seed = 1; seed <= MUTANT_SEEDS; seed++) {
        const { violation } = await simulate(seed, { mutant });
        const found = `${violation?.promise}: ${violation?.text}`;
        if (!violation || !mutant.breaks.test(found)) continue;
        // It must be the mutant that is found, not something else.
        if ((await simulate(seed)).violation) continue;
        process.stdout.write(`mutant '${mutant.name}': seed ${seed}, ${found}\n`);
        return;
      }
      expect.fail(`${MUTANT_SEEDS} seeds did not find it`);
    },
    TIMEOUT_MS,
  );
});

/** What must have happened in some run. */
const EVERYTHING = [
  'sent again',
  'retook',
  'fenced',
  'dies',
  'dies of poison',
  'freezes',
  'stopped',
  'is started again',
  'settled dead',
  'settled failed',
  'settled released',
  'publish: given up',
  'publish: away',
  'comes back',
  'takes over',
  'pauses',
  'resumes',
  'reaches its rate',
  'store call: refused',
  'store call: answer lost',
  'store call: done after the error',
  'store call: slow',
  'store call: hangs',
  'rolls back',
  'requeues',
  'cancels',
  'discards',
] as const;

/** Every broken promise with its seed, and the first one's last steps. */
async function report(broken: readonly Simulated[]): Promise<string> {
  const [first] = broken;
  if (!first) return '';
  const { trace } = await simulate(first.seed, { isTraced: true });
  const list = broken.map(({ seed, violation }) => `SEED=${seed} ${violation?.promise}: ${violation?.text}`);
  return [...list, `the end of seed ${first.seed}:`, ...trace.slice(-40)].join('\n');
}
