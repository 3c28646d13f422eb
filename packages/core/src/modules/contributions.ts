import type { Token } from './token.js';

const CONTRIBUTIONS = Symbol.for('@postcommit/contributions');

/**
 * A list that modules contribute to. A subclass serves as the token: inject it and iterate. Without contributions the
 * list is empty, never missing.
 */
export class Contributions<T> implements Iterable<T> {
  static readonly [CONTRIBUTIONS] = true;
  readonly items: readonly T[];

  constructor(items: readonly T[]) {
    this.items = items;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items[Symbol.iterator]();
  }
}

/** A subclass of `Contributions`, from this or another copy of the package. */
// biome-ignore lint/suspicious/noExplicitAny: a list of contributions holds items of every type.
export type ContributionsToken<T = unknown> = new (items: readonly any[]) => Contributions<T>;

export function isContributionsToken(token: Token): token is ContributionsToken {
  return Reflect.get(token, CONTRIBUTIONS) === true;
}
