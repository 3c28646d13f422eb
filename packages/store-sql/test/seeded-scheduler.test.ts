import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useMysql } from './mysql-fixture.js';
import { usePostgres } from './postgres-fixture.js';
import { Violation } from './scheduler/history.js';
import { MYSQL_MUTANTS } from './scheduler/mysql-mutants.js';
import { mysqlStage } from './scheduler/mysql-stage.js';
import { POSTGRES_MUTANTS } from './scheduler/postgres-mutants.js';
import { postgresStage } from './scheduler/postgres-stage.js';
import { type Cast, openCast, runSchedule } from './scheduler/sql-scheduler.js';
import type { Stage } from './scheduler/stage.js';
import type { StatementMutant } from './scheduler/statement-mutants.js';

/** `SEED=7 npm test -- packages/store-sql` replays one run; `SCHEDULER_SEEDS=1000` looks longer. */
const SEEDS = Number(process.env.SCHEDULER_SEEDS ?? 40);
const seeds = process.env.SEED
  ? [Number(process.env.SEED)]
  : Array.from({ length: SEEDS }, (_, index) => index + 1);
const TIMEOUT_MS = 30_000 + SEEDS * 3_000;

describe('on PostgreSQL', () => holdsUp(postgresStage(usePostgres()), POSTGRES_MUTANTS));
describeOnMysql('on MariaDB or MySQL', () => holdsUp(mysqlStage(useMysql()), MYSQL_MUTANTS));

function holdsUp(stage: Stage, mutants: readonly StatementMutant[]): void {
  let cast: Cast;

  beforeAll(async () => {
    cast = await openCast(stage);
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

  describe.skipIf(process.env.SEED)('a broken statement is detected', () => {
    it.each(mutants)(
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
}
