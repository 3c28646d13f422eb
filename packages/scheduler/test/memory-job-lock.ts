import { randomUUID } from 'node:crypto';
import { JobLock } from '@postcommit/core';
import type { HeldLock } from '@postcommit/core/internal';
import type { VirtualClock } from '@postcommit/store-memory';

interface LockRow {
  readonly token: string;
  readonly untilMs: number;
}

/** The contract of `JobLock` on a virtual clock, for several "instances" in one process; may be out of reach. */
export class MemoryJobLock extends JobLock {
  readonly #clock: VirtualClock;
  readonly #rows = new Map<string, LockRow>();
  /** Set to let every call fail. */
  outage: Error | undefined;

  constructor(clock: VirtualClock) {
    super();
    this.#clock = clock;
  }

  async acquire(name: string, ttlMs: number): Promise<HeldLock | undefined> {
    this.#assertReachable();
    if (this.isHeld(name)) return undefined;
    const token = randomUUID();
    this.#put(name, token, ttlMs);
    return {
      renew: async (nextTtlMs) => {
        this.#assertReachable();
        if (this.#rows.get(name)?.token !== token) return false;
        this.#put(name, token, nextTtlMs);
        return true;
      },
      release: async () => {
        this.#assertReachable();
        if (this.#rows.get(name)?.token === token) this.#rows.delete(name);
      },
    };
  }

  isHeld(name: string): boolean {
    return (this.#rows.get(name)?.untilMs ?? 0) > this.#clock.now();
  }

  /** What an operator may do by hand, or another instance after the lock ran out. */
  steal(name: string): void {
    this.#put(name, 'stolen', 60_000);
  }

  #put(name: string, token: string, ttlMs: number): void {
    this.#rows.set(name, { token, untilMs: this.#clock.now() + ttlMs });
  }

  #assertReachable(): void {
    if (this.outage) throw this.outage;
  }
}
