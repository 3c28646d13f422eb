import type { Module } from '../modules/module.js';
import type { Token } from '../modules/token.js';
import type { TransactionalOutboxStore } from './outbox-store.js';

/** A module that binds a store, with the token to get it. `Tx` is the transaction handle that `enqueueWith` takes. */
export interface StoreModule<Tx> extends Module {
  readonly store: Token<TransactionalOutboxStore<Tx>>;
}
