/** The process's own time: for deadlines and timers, never for what the database decides. */
export interface Clock {
    /** Milliseconds that never go back; only differences mean something. */
    monotonicMs(): number;
    /** Calls back once after `delayMs`. Returns the way to cancel it. */
    schedule(delayMs: number, callback: () => void): () => void;
}
export declare const systemClock: Clock;
