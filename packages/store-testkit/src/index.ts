export type { Behaviour, BehaviourGroup } from './behaviour.js';
export { behaviourGroups } from './behaviour-groups.js';
export { describeOutboxStore } from './describe-outbox-store.js';
export type { OutboxFixture, StoreHarness, TestTransaction } from './store-harness.js';
