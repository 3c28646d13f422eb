/** Maximum keys that one claim looks up: as many as the smallest window may have. */
const LOOKED_UP = 500;
/** Maximum keys remembered. */
const MAX_PARKED = 10_000;

/**
 * Keys that a search has passed because they were blocked. Their rows are not read again; every claim looks the keys up
 * instead, by name. With more than 500 of them, the claims take turns.
 */
export class ParkedKeys {
  /** Those that were looked up longest ago come first. */
  readonly #keys = new Set<string>();

  /** Returns the keys that the next claim looks up. */
  next(): string[] {
    const keys: string[] = [];
    for (const key of this.#keys) {
      if (keys.length === LOOKED_UP) break;
      keys.push(key);
    }
    for (const key of keys) {
      this.#keys.delete(key);
      this.#keys.add(key);
    }
    return keys;
  }

  /** Returns whether all of them are remembered now. If there is no room for all, none is added. */
  park(keys: readonly string[]): boolean {
    const added = keys.filter((key) => !this.#keys.has(key));
    if (this.#keys.size + added.length > MAX_PARKED) return false;
    for (const key of added) this.#keys.add(key);
    return true;
  }

  remove(keys: readonly string[]): void {
    for (const key of keys) this.#keys.delete(key);
  }
}
