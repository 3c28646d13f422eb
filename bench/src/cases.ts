import {
  type Line,
  type Measurement,
  measure,
  measureInSlices,
  type Result,
  rateOf,
  type SlicedLine,
} from './measure.js';
import type { Server } from './place.js';
import { BATCH_SIZE, type OpenSubject, type Subject, type Workload } from './subject.js';
import { graphileWorker } from './subjects/graphile-worker.js';
import { pgBoss } from './subjects/pg-boss.js';
import { postcommitPg, postcommitPgOverlapping } from './subjects/postcommit-pg.js';
import { postcommitPrisma, postcommitTypeorm } from './subjects/postcommit-stores.js';
import { postcommitTwoProcesses, postcommitWorker } from './subjects/postcommit-worker.js';
import { rawSql, rawSqlTwice } from './subjects/raw-sql.js';
import { telemetryCase } from './telemetry-case.js';
import { latencyCase, memoryCase, wakeupCase } from './worker-cases.js';

export interface Case {
  readonly name: string;
  readonly unit: string;
  run(server: Server, rounds: number): Promise<Result[]>;
  /** What must hold between the medians of two lines of this case. */
  readonly targets: readonly Target[];
}

/** `of` divided by `to`; by a number where `to` is one. */
export interface Target {
  readonly of: string;
  readonly to: string | number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Sizes {
  readonly drainRows: number;
  readonly bulkRows: number;
  readonly enqueues: number;
  readonly dispatchedRows: number;
  readonly memoryRows: number;
  readonly laterRows: number;
}

export function cases(sizes: Sizes): Case[] {
  return [
    drainCase(sizes),
    claimCase(sizes),
    keyedCase(sizes),
    sharedCase(sizes),
    enqueueCase(sizes),
    bulkCase(sizes),
    workerDrainCase(sizes),
    latencyCase(),
    wakeupCase(sizes),
    memoryCase(sizes),
    telemetryCase(sizes),
  ];
}

function drainCase({ drainRows: rows }: Sizes): Case {
  const subjects = [
    postcommitPg,
    postcommitPgOverlapping,
    postcommitTypeorm,
    postcommitPrisma,
    rawSql,
    graphileWorker,
    pgBoss,
  ];
  return {
    name: `drain ${rows} rows, one process, batch 1,000`,
    unit: 'rows/s',
    run: (server, rounds) =>
      measure(
        server,
        subjects.map((subject) => line(subject, drain({ rows }))),
        rounds,
      ),
    targets: [
      { of: postcommitPg.name, to: rawSql.name, atLeast: 0.85 },
      { of: postcommitPg.name, to: graphileWorker.name, atLeast: 1.3 },
      // graphile-worker keeps several connections busy: so does this one.
      { of: postcommitPgOverlapping.name, to: graphileWorker.name, atLeast: 1.3 },
      { of: postcommitPg.name, to: pgBoss.name, atLeast: 1.6 },
      { of: postcommitTypeorm.name, to: postcommitPg.name, atLeast: 0.6 },
      { of: postcommitPrisma.name, to: postcommitPg.name, atLeast: 0.6 },
    ],
  };
}

/** The worker with a publisher that takes batches. */
function workerDrainCase({ drainRows: rows }: Sizes): Case {
  const subjects = [postcommitWorker, postcommitTwoProcesses, rawSqlTwice, graphileWorker, pgBoss];
  return {
    name: `worker drains ${rows} rows, batch 1,000`,
    unit: 'rows/s',
    run: (server, rounds) =>
      measure(
        server,
        subjects.map((subject) => line(subject, drain({ rows }))),
        rounds,
      ),
    targets: [
      { of: postcommitWorker.name, to: rawSqlTwice.name, atLeast: 0.9 },
      { of: postcommitWorker.name, to: graphileWorker.name, atLeast: 1 },
      { of: postcommitWorker.name, to: pgBoss.name, atLeast: 1 },
      { of: postcommitTwoProcesses.name, to: postcommitWorker.name, atLeast: 1 },
    ],
  };
}

/** How fast batches of 1,000 are claimed, with much or nothing behind them in the table. */
function claimCase({ dispatchedRows, laterRows }: Sizes): Case {
  const claims = 20;
  const behind = (name: string, seed: (subject: OpenSubject) => Promise<void> | undefined): Line => ({
    name,
    subject: postcommitPg,
    measurement: async (subject, settle) => {
      await seed(subject);
      await subject.seed({ rows: claims * BATCH_SIZE });
      await settle();
      return rateOf(async () => {
        for (let batch = 0; batch < claims; batch++) must(await subject.claim?.(), BATCH_SIZE);
        return claims;
      });
    },
  });
  const much = `${dispatchedRows} dispatched rows`;
  const later = `${laterRows} rows for later`;
  const lines = [
    behind('empty table', () => undefined),
    behind(much, (subject) => subject.seedDispatched?.(dispatchedRows)),
    behind(later, (subject) => subject.seedLater?.(laterRows)),
  ];
  return {
    name: 'claim 1,000 rows',
    unit: 'claims/s',
    run: (server, rounds) => measure(server, lines, rounds),
    targets: [
      { of: much, to: 'empty table', atLeast: 1 / 1.3 },
      { of: later, to: 'empty table', atLeast: 1 / 1.3 },
    ],
  };
}

function keyedCase({ drainRows: rows }: Sizes): Case {
  const withKeys = (keys: number): Line => ({
    ...line(postcommitPg, drain({ rows, keyOf: (index) => `key-${index % keys}` })),
    name: `${keys} keys`,
  });
  const unkeyed = { ...line(postcommitPg, drain({ rows })), name: 'no key' };
  return {
    name: `drain ${rows} rows with keys`,
    unit: 'rows/s',
    run: (server, rounds) => measure(server, [unkeyed, withKeys(1_000), withKeys(100_000)], rounds),
    targets: [
      { of: '1000 keys', to: 'no key', atLeast: 0.45 },
      { of: '100000 keys', to: 'no key', atLeast: 0.45 },
    ],
  };
}

/** The rate of the unkeyed half alone, while something else sits in the table. */
function sharedCase({ drainRows: rows }: Sizes): Case {
  const beside = (name: string, keyOf: Workload['keyOf'], poison = false): Line => ({
    name,
    subject: postcommitPg,
    measurement: unkeyedRate({ rows, ...(keyOf && { keyOf }) }, poison),
  });
  const lines = [
    beside('alone', undefined),
    beside('one key with as many rows', () => 'hot'),
    beside('poisoned heads', (index) => `poison-${index % 10_000}`, true),
  ];
  return {
    name: `drain ${rows} rows without a key beside others`,
    unit: 'unkeyed rows/s',
    run: (server, rounds) => measure(server, lines, rounds),
    targets: [
      { of: 'one key with as many rows', to: 'alone', atLeast: 0.8 },
      { of: 'poisoned heads', to: 'alone', atLeast: 0.8 },
    ],
  };
}

function enqueueCase({ enqueues }: Sizes): Case {
  const subjects = [postcommitPg, rawSql, graphileWorker, pgBoss];
  return {
    name: 'a business transaction with one message, one connection',
    unit: 'transactions/s',
    run: (server, rounds) =>
      measureInSlices(
        server,
        subjects.map((subject) => sliced(subject, enqueueOneByOne(enqueues / 10))),
        rounds * 10,
      ),
    targets: [{ of: postcommitPg.name, to: rawSql.name, atLeast: 0.9 }],
  };
}

function bulkCase({ bulkRows }: Sizes): Case {
  const subjects = [postcommitPg, rawSql, graphileWorker, pgBoss];
  return {
    name: `${bulkRows} messages in one transaction`,
    unit: 'messages/s',
    run: (server, rounds) =>
      measureInSlices(
        server,
        subjects.map((subject) => sliced(subject, bulk(bulkRows))),
        rounds * 3,
      ),
    targets: [{ of: postcommitPg.name, to: rawSql.name, atLeast: 0.85 }],
  };
}

function line(subject: Subject, measurement: Measurement): Line {
  return { name: subject.name, subject, measurement };
}

function drain(workload: Workload): Measurement {
  return async (subject, settle) => {
    await subject.seed(workload);
    await settle();
    return rateOf(async () => must(await subject.drain?.(), workload.rows));
  };
}

function unkeyedRate(workload: Workload, poison: boolean): Measurement {
  return async (subject, settle) => {
    if (workload.keyOf) await subject.seedBeside?.(workload, poison);
    await subject.seed({ rows: workload.rows });
    await settle();
    return rateOf(async () => must(await subject.drainUnkeyed?.(workload.rows), workload.rows));
  };
}

function sliced(subject: Subject, slice: SlicedLine['slice']): SlicedLine {
  return { name: subject.name, subject, slice };
}

function enqueueOneByOne(count: number): SlicedLine['slice'] {
  return (subject) =>
    rateOf(async () => {
      for (let order = 0; order < count; order++) await subject.enqueueOne?.(order);
      return count;
    });
}

function bulk(count: number): SlicedLine['slice'] {
  return (subject) =>
    rateOf(async () => {
      await subject.enqueueBulk?.(count);
      return count;
    });
}

/** A subject that lost or doubled rows was not fast, it was wrong. */
function must(count: number | undefined, expected: number): number {
  if (count !== expected) throw new Error(`${count} rows were published instead of ${expected}`);
  return count;
}
