import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usePostgres } from './postgres-fixture.js';
import { Violation } from './scheduler/history.js';
import { type Cast, openCast, runSchedule } from './scheduler/sql-scheduler.js';
import { STATEMENT_MUTANTS } from './scheduler/statement-mutants.js';

/** `SEED=7 npm test -- packages/sql` replays one run; `SCHEDULER_SEEDS=1000` looks longer. */
const SEEDS = Number(process.env.SCHEDULER_SEEDS ?? 60);
const seeds = process.env.SEED
  ? [Number(process.env.SEED)]
  : Array.from({ length: SEEDS }, (_, index) => index + 1);
const TIMEOUT_MS = 30_000 + SEEDS * 1_000;

const fixture = usePostgres();
let cast: Cast;

beforeAll(async () => {
  cast = await openCast(fixture);
});

afterAll(async () => {
  await Promise.all(cast.sessions.map((session) => session.end()));
});

describe('random interleavings of producers, dispatchers and an operator', () => {
  it(
    `keep the promises I1 to I5, ${seeds.length} seeds`,
    async () => {
      for (const seed of seeds) await runSchedule(cast, seed);
    },
    TIMEOUT_MS,
  );
});

describe.skipIf(process.env.SEED)('a broken statement is found out', () => {
  it.each(STATEMENT_MUTANTS)(
    '$name',
    async ({ name, dialect, breaks }) => {
      for (const seed of seeds) {
        const violation = await runSchedule(cast, seed, dialect).catch((error: unknown) => error);
        if (violation === undefined) continue;
        if (!(violation instanceof Violation)) throw violation;
        process.stdout.write(`mutant '${name}': found by seed ${seed}\n`);
        expect(violation.message).toMatch(breaks);
        return;
      }
      expect.fail(`${seeds.length} seeds did not find the mutant '${name}'`);
    },
    TIMEOUT_MS,
  );
});
