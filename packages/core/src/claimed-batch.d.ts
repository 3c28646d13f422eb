import type { DispatchEngine } from './dispatch-engine.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import type { OutboxRow } from './outbox-row.js';
/** Rows claimed together, on their way to the publisher and back to the store. */
export declare class ClaimedBatch {
    #private;
    readonly rows: readonly OutboxRow[];
    constructor(engine: DispatchEngine, token: string, rows: readonly OutboxRow[], sentAtMs: number);
    /**
     * Publishes every row and records what became of each. With `keepTrying`, a settle that fails is repeated for as
     * long as the claim lives: what was published is then not published again.
     */
    run({ keepTrying }?: {
        keepTrying?: boolean | undefined;
    }): Promise<DispatchSummary>;
    /** Nothing more starts, and what has not started is given back at once. Gives the ids that could not be. */
    giveBackUnstarted(): Promise<string[]>;
    /** Aborts what is being published and records nothing for it. Its claims are left to expire, never released. */
    abandonRunning(reason: Error): string[];
    /** Stops repeating a settle that fails. Gives the ids of what is known but not recorded. */
    giveUpSettling(): string[];
    /** For a batch that may never have been run: gives everything back. */
    close(): Promise<void>;
}
