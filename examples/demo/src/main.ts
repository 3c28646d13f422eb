/** Orders are placed, some transactions roll back, the broker fails now and then: what arrives is what committed. */
import { composeModules, OutboxDispatcher, OutboxModule } from '@postcommit/core';
import { MemoryOutboxStore, OutboxMemoryModule, seededRandom } from '@postcommit/store-memory';

const ORDERS = 500;
const ROLLBACK_RATE = 0.2;
const BROKER_FAILURE_RATE = 0.15;

const random = seededRandom(Number(process.env['SEED'] ?? 1));
const committed = new Set<string>();
const delivered = new Map<string, number>();

const app = composeModules([
  OutboxModule.forRoot({
    maxAttempts: 20,
    publisher: async (row) => {
      if (random() < BROKER_FAILURE_RATE) throw new Error('broker unavailable');
      delivered.set(row.id, (delivered.get(row.id) ?? 0) + 1);
    },
  }),
  OutboxMemoryModule,
]);
const store = app.get(MemoryOutboxStore);
const dispatcher = app.get(OutboxDispatcher);

async function placeOrder(orderId: string): Promise<void> {
  const [messageId = ''] = await store.transaction(async (tx) => {
    const ids = await store.enqueueWith(tx, { topic: 'order.placed', key: orderId, payload: { orderId } });
    if (random() < ROLLBACK_RATE) throw new Error('card declined');
    return ids;
  });
  committed.add(messageId);
}

let rolledBack = 0;
let failures = 0;
for (let order = 1; order <= ORDERS; order++) {
  await placeOrder(`order-${order}`).catch(() => {
    rolledBack += 1;
  });
  if (order % 50 === 0) failures += (await dispatcher.dispatchPending()).failed;
}
for (let summary = await dispatcher.dispatchPending(); summary.fetched > 0; ) {
  failures += summary.failed;
  summary = await dispatcher.dispatchPending();
}

const phantoms = [...delivered.keys()].filter((id) => !committed.has(id)).length;
const lost = [...committed].filter((id) => !delivered.has(id)).length;
console.log(
  `${ORDERS} orders were placed; ${rolledBack} of them rolled back; the broker failed ${failures} times.\n`,
);
console.table({
  'orders committed': committed.size,
  'messages delivered': delivered.size,
  'phantoms (delivered, never committed)': phantoms,
  'lost (committed, never delivered)': lost,
});
const kept = phantoms === 0 && lost === 0 && (await store.count()).dispatched === committed.size;
console.log(kept ? 'Every committed order was announced, and nothing else.' : 'A promise was broken.');
process.exitCode = kept ? 0 : 1;
