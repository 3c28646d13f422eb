export { describeOutboxStore } from './describe-outbox-store.js';
export type { OutboxFixture, StoreHarness, TestTransaction } from './store-harness.js';
