import type { Clock } from '@postcommit/core';

/**
 * Claims whose response was lost: they may have been committed. Nothing was published from them, so they are released,
 * if not at once then as soon as the database answers. Otherwise their rows would wait until the claim expires, beside a
 * worker that lives.
 */
export class LostClaims {
  readonly #release: (token: string) => Promise<unknown>;
  readonly #claimTimeoutMs: number;
  readonly #clock: Clock;
  /** Tokens, each with the time when its claim has expired by itself. */
  readonly #tokens = new Map<string, number>();

  constructor(release: (token: string) => Promise<unknown>, claimTimeoutMs: number, clock: Clock) {
    this.#release = release;
    this.#claimTimeoutMs = claimTimeoutMs;
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#tokens.size === 0;
  }

  add(token: string): void {
    this.#tokens.set(token, this.#clock.monotonicMs() + this.#claimTimeoutMs);
  }

  /** Never rejects: what can't be released now is left for the next time. */
  async release(): Promise<void> {
    for (const [token, expiresAtMs] of [...this.#tokens]) {
      try {
        if (this.#clock.monotonicMs() < expiresAtMs) await this.#release(token);
        this.#tokens.delete(token);
      } catch {
        return;
      }
    }
  }
}
