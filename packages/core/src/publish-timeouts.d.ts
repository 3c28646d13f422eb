import type { Clock } from './clock.js';
/** A publish that runs. */
export interface RunningPublish {
    readonly dueMs: number;
    readonly giveUp: () => void;
}
/**
 * Bounds the publishes of one batch in time, with one timer for all of them: they have the same time-out, so the
 * one that started first is due first. Setting and clearing a timer for each took about a fifth of the dispatcher's
 * own time in a profile.
 */
export declare class PublishTimeouts {
    #private;
    readonly timeoutMs: number;
    constructor(clock: Clock, timeoutMs: number);
    start(giveUp: () => void): RunningPublish;
    end(publish: RunningPublish): void;
    /** The batch is over: no timer remains. */
    stop(): void;
}
