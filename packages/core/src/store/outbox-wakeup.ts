import { nameToken } from '../modules/token.js';

/** Whether hints currently arrive. */
export type WakeupStatus =
  | { readonly isListening: true }
  | {
      readonly isListening: false;
      readonly error: unknown;
      /** False if it can never work here, for example behind a transaction pooler. */
      readonly willRetry: boolean;
    };

/**
 * `commit`: a transaction has committed, and others send hints of their own. `burst`: transactions have committed, or are
 * about to, without a hint each.
 */
export type HintKind = 'commit' | 'burst';

export interface WakeupListener {
  /** Rows were enqueued. @param kind - default `burst` */
  onHint(kind?: HintKind): void;
  onStatus(status: WakeupStatus): void;
}

/** Reports that rows were enqueued, in any process. Hints may be lost: polling bounds the delay. */
export abstract class OutboxWakeup {
  static {
    nameToken(this, '@postcommit/core/OutboxWakeup');
  }

  /**
   * Starts to listen and returns at once. Success, a lost connection and a reconnect are reported to `onStatus`.
   * Returns an unsubscribe function; once it resolves, no callback is called and no connection or timer remains.
   */
  abstract subscribe(listener: WakeupListener): () => Promise<void>;
}
