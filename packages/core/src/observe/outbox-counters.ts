import { Contributions } from '../modules/contributions.js';
import { nameToken } from '../modules/token.js';

/** A counter that a module keeps, for whoever exports metrics. */
export interface OutboxCounter {
  /** The name under which it is exported, as it is. */
  readonly metric: string;
  /** UCUM. */
  readonly unit: string;
  readonly description: string;
  /** Calls back for each count. Returns an unsubscribe function. */
  onCount(listener: () => void): () => void;
}

/** The counters that modules contribute; `@postcommit/telemetry` exports them. */
export class OutboxCounters extends Contributions<OutboxCounter> {
  static {
    nameToken(this, '@postcommit/core/OutboxCounters');
  }
}
