import { seededRandom } from '@postcommit/store-memory';

/** Choices that a seed decides: the same seed always creates the same world. */
export class SimRandom {
  readonly next: () => number;

  constructor(seed: number) {
    // Spread, so that neighbouring seeds differ from their first choice on.
    this.next = seededRandom(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** From `low` up to, not including, `high`. */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** A whole number; both ends are possible. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.next() * list.length)] ?? list[0];
  }
}
