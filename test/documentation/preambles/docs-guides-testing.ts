export { createEmptyTable, MyOutboxStore } from './packages-store-testkit-README.js';
