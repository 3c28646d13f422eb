import type { Token } from './token.js';
declare const POOL: unique symbol;
/**
 * A list that modules contribute to. A subclass is its token: inject it and iterate. Without contributions it
 * is empty, never missing.
 */
export declare class Pool<T> implements Iterable<T> {
    static readonly [POOL] = true;
    readonly items: readonly T[];
    constructor(items: readonly T[]);
    [Symbol.iterator](): Iterator<T>;
}
/** A constructor of a pool, of this or another copy of the package. */
export type PoolToken<T = unknown> = new (items: readonly any[]) => Pool<T>;
export declare function isPoolToken(token: Token): token is PoolToken;
export {};
