import type { Random } from './retry-policy.js';
export interface Uuidv7Options {
    /** Milliseconds since 1970. Default `Date.now`. */
    readonly now?: () => number;
    /** For repeatable ids in tests. Default: cryptographic randomness. */
    readonly random?: Random;
}
/** A source of UUIDv7s, each greater than the one before, also when the clock goes back. */
export declare function createUuidv7(options?: Uuidv7Options): () => string;
