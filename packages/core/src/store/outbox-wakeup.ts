import { nameToken } from '../modules/token.js';

/** Whether hints arrive at present. */
export type WakeupStatus =
  | { readonly isListening: true }
  | {
      readonly isListening: false;
      readonly error: unknown;
      /** False when it can never work here, behind a transaction pooler for one. */
      readonly willRetry: boolean;
    };

export interface WakeupListener {
  /** Rows were enqueued; the transaction that did may not have committed yet. */
  onHint(): void;
  onStatus(status: WakeupStatus): void;
}

/** Tells that rows were enqueued, in whatever process. Only a hint: lateness is bounded by polling. */
export abstract class OutboxWakeup {
  static {
    nameToken(this, '@postcommit/core/OutboxWakeup');
  }

  /**
   * Begins to listen and returns at once: what becomes of it, also when the connection is lost and comes back, goes to
   * `onStatus`. The returned function ends it; after that nothing is called and no connection or timer remains.
   */
  abstract subscribe(listener: WakeupListener): () => Promise<void>;
}
