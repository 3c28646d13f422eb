import { EnqueuePipeline, OutboxDispatcher, type OutboxInterceptor } from '@postcommit/core';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { TelemetryInterceptor } from '@postcommit/telemetry';
import type { Case, Setting } from '../case.js';
import { scaled } from '../lines.js';
import { count, median, rateOf } from '../statistics.js';
import { BATCH_SIZE, payload } from '../subject.js';
import { postcommitPg } from '../subjects/postcommit-pg.js';

const NOTHING_BUT_NEXT: OutboxInterceptor = {
  enqueue: (entries, next) => next(entries),
  dispatch: (limit, next) => next(limit),
  publish: (row, context, next) => next(row, context),
};
const NONE = 'no interceptor';
const EMPTY = 'one that does nothing';
const TELEMETRY = 'telemetry without an SDK';
const COLUMN = 'in memory';
const DRAINS = 15;

/** What an interceptor costs. No OpenTelemetry SDK is registered here. */
export function telemetryCase(setting: Setting): Case {
  const rows = scaled(setting, 20, 1) * BATCH_SIZE;
  const lines: ReadonlyArray<readonly [string, () => OutboxInterceptor[]]> = [
    [NONE, () => []],
    [EMPTY, () => [NOTHING_BUT_NEXT]],
    [TELEMETRY, () => [new TelemetryInterceptor()]],
  ];
  const isAsked = setting.subjects.includes(postcommitPg);
  return {
    id: 'telemetry',
    title: `Draining ${count(rows)} rows in memory, with telemetry`,
    about: 'Without a database around it, so that nothing hides what an interceptor costs.',
    columns: [{ name: COLUMN, unit: 'rows/s' }],
    trials: (isAsked ? lines : []).map(([line, interceptors]) => ({
      line,
      columns: [COLUMN],
      seconds: 5,
      run: async () => {
        const rates: number[] = [];
        // The first drain is for the compiler.
        for (let turn = 0; turn <= DRAINS; turn++) rates.push(await drainInMemory(rows, interceptors()));
        return { [COLUMN]: median(rates.slice(1)) };
      },
    })),
    targets: [
      { of: [TELEMETRY, COLUMN], to: [EMPTY, COLUMN], atLeast: 0.95 },
      { of: [TELEMETRY, COLUMN], to: [NONE, COLUMN], atLeast: 0.95 },
    ],
  };
}

async function drainInMemory(rows: number, interceptors: readonly OutboxInterceptor[]): Promise<number> {
  const pipeline = new EnqueuePipeline({ interceptors });
  const store = new MemoryOutboxStore({ table: new MemoryTable(new VirtualClock()), pipeline });
  await store.enqueue(
    Array.from({ length: rows }, (_, index) => ({ topic: 'order.paid', payload: payload(index) })),
  );
  const dispatcher = new OutboxDispatcher(store, async () => {}, { interceptors, batchSize: BATCH_SIZE });
  return rateOf(async () => {
    for (let left = rows; left > 0; left -= BATCH_SIZE) await dispatcher.dispatchPending();
    return rows;
  });
}
