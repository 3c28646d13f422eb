/** When to look for rows next: at once while there are some, in a burst after a hint, and ever less often else. */
export declare class PollPace {
    #private;
    constructor(pollIntervalMs: number);
    /** The wait before the next poll, after one that found rows or none. */
    afterPoll(found: boolean): number;
    /** Begins a burst. Gives whether to poll now instead of waiting on. */
    hint(): boolean;
}
