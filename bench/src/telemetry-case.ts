import { EnqueuePipeline, OutboxDispatcher, type OutboxInterceptor } from '@postcommit/core';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { TelemetryInterceptor } from '@postcommit/telemetry';
import type { Case, Sizes } from './cases.js';
import { rateOf } from './measure.js';
import { BATCH_SIZE, payload } from './subject.js';

const NOTHING_BUT_NEXT: OutboxInterceptor = {
  enqueue: (entries, next) => next(entries),
  dispatch: (limit, next) => next(limit),
  publish: (row, context, next) => next(row, context),
};

/** No OpenTelemetry SDK is registered here. In memory, so that nothing hides what an interceptor costs. */
export function telemetryCase({ drainRows }: Sizes): Case {
  const rows = Math.ceil(drainRows / 5 / BATCH_SIZE) * BATCH_SIZE;
  const lines: ReadonlyArray<readonly [string, () => OutboxInterceptor[]]> = [
    ['no interceptor', () => []],
    ['one that does nothing', () => [NOTHING_BUT_NEXT]],
    ['telemetry without an SDK', () => [new TelemetryInterceptor()]],
  ];
  return {
    name: `drain ${rows} rows in memory, with telemetry`,
    unit: 'rows/s',
    run: async (_server, rounds) => {
      const rates = lines.map(([name]) => ({ name, rates: [] as number[] }));
      // The first time is for the compiler.
      for (let round = -1; round < rounds * 5; round++) {
        for (const [place, [, interceptors]] of lines.entries()) {
          const rate = await drainInMemory(rows, interceptors());
          if (round >= 0) rates[place]?.rates.push(rate);
        }
      }
      return rates;
    },
    targets: [
      { of: 'telemetry without an SDK', to: 'one that does nothing', atLeast: 0.95 },
      { of: 'telemetry without an SDK', to: 'no interceptor', atLeast: 0.95 },
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
