/**
 * A quick look that says yes to plain data, which nearly all payloads are, without noting where it is: it took bulk
 * enqueuing from 0.85 to 0.99 of the raw statement. A no means only that `payloadProblem` has to look.
 */
export declare function isPlainData(value: unknown, depth?: number): boolean;
/** Says why a payload can't be stored as it is; undefined when it can. */
export type PayloadProblem = string | undefined;
/**
 * Finds what JSON or a database would refuse, or change silently: NaN becomes null, a Map becomes {}.
 * An `undefined` property of an object is allowed, since leaving it out means the same.
 */
export declare function payloadProblem(value: unknown, path?: string, depth?: number): PayloadProblem;
export declare function stringProblem(value: string, path: string): PayloadProblem;
