import { nameToken } from '../modules/token.js';

/** A topic whose rows are not claimed until somebody resumes it. */
export interface PausedTopic {
  readonly topic: string;
  readonly sinceMs: number;
}

/** The topics that are paused in all processes. Kept in the store, so a pause survives restarts. */
export abstract class OutboxPauses {
  static {
    nameToken(this, '@postcommit/core/OutboxPauses');
  }

  /** Returns false if it was paused already. */
  abstract pause(topic: string): Promise<boolean>;

  /** Returns false if it was not paused. */
  abstract resume(topic: string): Promise<boolean>;

  /** In alphabetical order. */
  abstract list(): Promise<PausedTopic[]>;
}
