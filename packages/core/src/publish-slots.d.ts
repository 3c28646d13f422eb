/**
 * Bounds the publishes that run at the same time. A publish that timed out but still runs keeps its slot:
 * giving it away would let a publisher that ignores its signal pile up calls without bound.
 */
export declare class PublishSlots {
    #private;
    constructor(size: number);
    /** Every slot is held by a publish that timed out and has not ended. */
    get stuck(): boolean;
    /** False when no slot can come free, because all are stuck, or when nothing is to start any more. */
    acquire(): boolean | Promise<boolean>;
    markOverdue(): void;
    /** Nothing starts until `open`; what runs goes on. */
    close(): void;
    open(): void;
    release({ overdue }: {
        overdue: boolean;
    }): void;
}
