import { nameToken } from '../modules/token.js';

/** The right to run a job alone among all instances, for a while. */
export interface HeldLock {
  /** False when the lock was lost: stop working. */
  renew(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

/** A lock with a time to live by the database's clock, fenced by a token of its own. */
export abstract class JobLock {
  static {
    nameToken(this, '@postcommit/core/JobLock');
  }

  /** Undefined when another instance holds it. */
  abstract acquire(name: string, ttlMs: number): Promise<HeldLock | undefined>;
}
