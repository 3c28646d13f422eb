export declare function remind(payload: unknown, idempotencyKey: string): Promise<void>;
