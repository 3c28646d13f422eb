import { type BackoffFunction, type BackoffOptions, type RetryPolicy } from './retry-policy.js';
/** How the dispatcher works. Units are in the names. */
export interface OutboxConfig extends RetryPolicy {
    /** Rows claimed at once. Default 50. */
    readonly batchSize: number;
    /** Total tries of a row before it is dead. Default unlimited: nothing is given up unless you say so. */
    readonly maxAttempts: number;
    /** The wait after a failure. Default none: due at once, at the back of the line. */
    readonly backoff?: BackoffOptions | BackoffFunction;
    /** Expired claims in a row before a row is taken for the one that kills its process. Default 5. */
    readonly maxRetakes: number;
    /** Publishes at the same time. Default 1: in order. Rows with the same key always go one after another. */
    readonly concurrency: number;
    /** A publish that takes longer has failed. Default 30 s; one heartbeat more must fit into the claim. */
    readonly publishTimeoutMs: number;
}
/** Fills in defaults and refuses nonsense. */
export declare function resolveConfig(config?: Partial<OutboxConfig>): OutboxConfig;
/** Claims are extended three times in their life: two heartbeats may fail before one is lost. */
export declare function heartbeatMs(claimTimeoutMs: number): number;
/** A publish must end, by success or time-out, before its claim can: otherwise two owners publish at once. */
export declare function assertPublishFitsClaim({ publishTimeoutMs }: OutboxConfig, claimTimeoutMs: number): void;
