import { Contributions } from '../modules/contributions.js';
import { nameToken } from '../modules/token.js';

/** A counter that a module provides for export as a metric. */
export interface OutboxCounter {
  /** The name of the exported metric. */
  readonly metric: string;
  /** The unit, in UCUM notation. */
  readonly unit: string;
  readonly description: string;
  /** Registers a listener called for each count. Returns an unsubscribe function. */
  onCount(listener: () => void): () => void;
}

/** The counters that modules contribute; `@postcommit/telemetry` exports them. */
export class OutboxCounters extends Contributions<OutboxCounter> {
  static {
    nameToken(this, '@postcommit/core/OutboxCounters');
  }
}
