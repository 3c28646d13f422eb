import { type OutboxInterceptor } from './interceptors.js';
import type { OutboxEntry, OutboxTopic, PayloadOf } from './outbox-row.js';
import type { BackoffOptions } from './retry-policy.js';
import { type StandardSchema } from './standard-schema.js';
/** An entry that passed every check, as a store writes it. */
export interface NewRow {
    readonly id: string;
    readonly topic: string;
    /** JSON text. */
    readonly payload: string;
    readonly key?: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** Absent: now, by the database's clock. */
    readonly availableAt?: Date;
    readonly maxAttempts?: number;
    readonly backoff?: BackoffOptions;
}
/** A Standard Schema (Zod, Valibot, ArkType …) for each topic that wants one. */
export type OutboxSchemas = {
    readonly [Topic in OutboxTopic]?: StandardSchema<PayloadOf<Topic>>;
};
export interface EnqueueOptions {
    readonly schemas?: OutboxSchemas;
    /** Default 1 MiB (1,048,576): larger messages belong in object storage, with a reference in the payload. */
    readonly maxPayloadBytes?: number;
    readonly interceptors?: Iterable<OutboxInterceptor>;
    /** Default: UUIDv7s, increasing within the process. */
    readonly generateId?: () => string;
}
type Insert = (rows: readonly NewRow[]) => Promise<void>;
/** The way of every entry into every store: interceptors, checks, ids, then the store's own insert. */
export declare class EnqueuePipeline {
    #private;
    constructor(options?: EnqueueOptions);
    /** Nothing is inserted unless every entry is good. Gives the ids in the order of the entries. */
    run(entries: OutboxEntry | readonly OutboxEntry[], insert: Insert): Promise<string[]>;
    /** The same pipeline with another source of ids: repeatable ones in tests, for example. */
    withIds(generateId: () => string): EnqueuePipeline;
    hasSchema(topic: string): boolean;
    /** What the schema of this topic, if there is one, objects to in a payload. */
    schemaProblem(topic: string, payload: unknown): Promise<string | undefined>;
}
export {};
