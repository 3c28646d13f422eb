import type { OutboxError } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { postgres } from '@postcommit/store-sql';
import { beforeEach, expect, it } from 'vitest';
import { KeyedLock } from '../src/claim/keyed-lock.js';
import { KeyedLockTimeout } from '../src/dialect.js';
import { TABLE } from './sql-session.js';

interface Holder {
  readonly holder: string;
  /** Null if the server does not show how old its transaction is. */
  readonly held_ms: string | null;
}

let clock: VirtualClock;
let reports: OutboxError[];
let holders: (secondsBlocked: number) => Holder[];
let lock: KeyedLock;

beforeEach(() => {
  clock = new VirtualClock();
  reports = [];
  lock = new KeyedLock({
    ask: async () => holders(Math.floor(clock.monotonicMs() / 1_000)).map((each) => ({ ...each })),
    report: (error) => reports.push(error),
    table: TABLE,
    statements: postgres.keyedLock,
    clock,
  });
});

/** Every claim times out for so long. */
async function blockedFor(ms: number): Promise<void> {
  const times = async (): Promise<never> => Promise.reject(new KeyedLockTimeout(undefined));
  for (let passed = 0; passed < ms; passed += 250) {
    await lock.within(times);
    await clock.advance(250);
  }
}

it('claimers of ours that take turns are not reported, however long that goes on', async () => {
  holders = (seconds) => [{ holder: String(seconds % 7), held_ms: '20' }];
  await blockedFor(120_000);
  expect(reports).toEqual([]);
});

it('a session whose transactions are short is reported when every retry meets it for half a minute', async () => {
  holders = () => [{ holder: '7', held_ms: '20' }];
  await blockedFor(29_000);
  expect(reports).toEqual([]);
  await blockedFor(5_000);
  expect(reports).toMatchObject([{ code: 'KEYED_CLAIMS_BLOCKED' }]);
});

it.each([
  ['old', '60000'],
  ['of unknown age', null],
])(
  'a session whose transaction is %s is reported once no stalled claimer could hold the lock any longer',
  async (_age, held_ms) => {
    holders = () => [{ holder: '7', held_ms }];
    await blockedFor(4_000);
    expect(reports).toEqual([]);
    await blockedFor(5_000);
    expect(reports).toHaveLength(1);
    expect(reports[0]?.message).toContain('select pg_terminate_backend(7);');
  },
);
