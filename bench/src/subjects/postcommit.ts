import {
  composeModules,
  DispatchEvents,
  type Module,
  type OutboxApp,
  OutboxModule,
  type OutboxStore,
  type TransactionalOutboxStore,
} from '@postcommit/core';
import { BATCH_SIZE, type Consumer, type OpenSubject, payload, type Report } from '../subject.js';
import { CountingPublisher } from './counting-publisher.js';

/** An application with its worker, which listens for wake-ups. */
export async function runApplication(
  store: Module,
  publisher: Parameters<typeof OutboxModule.forRoot>[0],
): Promise<Consumer & { readonly app: OutboxApp }> {
  const app = composeModules([OutboxModule.forRoot(publisher), store]);
  const listening = new Promise<void>((resolve, reject) => {
    app
      .get(DispatchEvents)
      .on('wakeup', ({ isListening, error }) => (isListening ? resolve() : reject(error)));
  });
  await app.start();
  await listening;
  return { app, stop: () => app.stop() };
}

/** Batches of a thousand, to a publisher that takes batches. */
export function inBatches(report: Report): Parameters<typeof OutboxModule.forRoot>[0] {
  return { publisher: new CountingPublisher(report), batchSize: BATCH_SIZE };
}

export function entriesOf(orders: readonly number[]): Array<{ topic: string; payload: unknown }> {
  return orders.map((order) => ({ topic: 'order.paid', payload: payload(order) }));
}

/** The claim alone is timed; then the batch is settled, so that the next one finds others. */
export function claiming(store: OutboxStore): NonNullable<OpenSubject['claim']> {
  return async () => {
    const startedAt = performance.now();
    const rows = await store.fetchPending(BATCH_SIZE);
    const ms = performance.now() - startedAt;
    const outcomes = rows.map(({ id }) => ({ id, kind: 'dispatched' as const }));
    await store.settle(rows[0]?.claimToken ?? '', outcomes);
    return { ms, rows: rows.length };
  };
}

/** One statement, whatever the number of orders. */
export function enqueue<Tx>(store: TransactionalOutboxStore<Tx>, tx: Tx, orders: readonly number[]) {
  return store.enqueueWith(tx, entriesOf(orders));
}
