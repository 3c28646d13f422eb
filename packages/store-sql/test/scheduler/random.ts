/** Numbers that a seed decides: the same seed always runs the same way. */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Spread neighbouring seeds, so that the first choices differ.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  }

  /** From 0 up to, not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from');
    return list[Math.floor(this.next() * list.length)] as T;
  }

  /** One of the choices, by their weights. */
  weighted<T extends { readonly weight: number }>(choices: readonly T[]): T {
    let point = this.next() * choices.reduce((sum, { weight }) => sum + weight, 0);
    for (const choice of choices) {
      point -= choice.weight;
      if (point < 0) return choice;
    }
    return this.pick(choices);
  }
}
