import type { Token } from './token.js';

const POOL = Symbol.for('@postcommit/pool');

/**
 * A list that modules contribute to. A subclass is its token: inject it and iterate. Without contributions it
 * is empty, never missing.
 */
export class Pool<T> implements Iterable<T> {
  static readonly [POOL] = true;
  readonly items: readonly T[];

  constructor(items: readonly T[]) {
    this.items = items;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items[Symbol.iterator]();
  }
}

/** A constructor of a pool, of this or another copy of the package. */
// biome-ignore lint/suspicious/noExplicitAny: a list of contributions holds pools of every item.
export type PoolToken<T = unknown> = new (items: readonly any[]) => Pool<T>;

export function isPoolToken(token: Token): token is PoolToken {
  return Reflect.get(token, POOL) === true;
}
