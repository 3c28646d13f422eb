/** How the worker's loop goes. */
export interface WorkerConfig {
    /** The longest wait between two looks for due rows. Default 1 s: how late a row can be when no hint comes. */
    readonly pollIntervalMs: number;
    /** Batches on their way at the same time. Default 2: the next is claimed while the last one settles. */
    readonly batchesInFlight: number;
    /** About how much the payloads of claimed rows may weigh. Default 64 MiB: smaller batches are claimed beyond it. */
    readonly maxBytesInFlight: number;
    /** Tells the signal `backlog` when so many rows are pending. Default: never. */
    readonly backlogThreshold?: number;
}
/** Fills in defaults and refuses nonsense. */
export declare function resolveWorkerConfig(config?: Partial<WorkerConfig>): WorkerConfig;
