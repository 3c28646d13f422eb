import { nameToken } from '../modules/token.js';

/** A lock this instance holds: until it expires, no other instance runs the job. */
export interface HeldLock {
  /** Extends the lock to `ttlMs` from now. Returns false if it was lost; stop the job then. */
  renew(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

/** Named locks that expire by the database's clock. Each acquisition has its own fencing token. */
export abstract class JobLock {
  static {
    nameToken(this, '@postcommit/core/JobLock');
  }

  /** Returns the lock, or undefined while another instance holds it. */
  abstract acquire(name: string, ttlMs: number): Promise<HeldLock | undefined>;
}
