import { Pool } from './modules/pool.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import type { PublishContext } from './outbox-publisher.js';
import type { OutboxEntry, OutboxRow } from './outbox-row.js';
/**
 * Stands around enqueue, dispatch and publish, for tracing, metrics or rules of an application. Each method
 * must call `next` once, may change what it hands on, and sees the error when `next` rejects.
 */
export interface OutboxInterceptor {
    /** Around `enqueue` and `enqueueWith`; runs before validation. Gives the ids in order. */
    enqueue?(entries: readonly OutboxEntry[], next: (entries: readonly OutboxEntry[]) => Promise<string[]>): Promise<string[]>;
    /** Around one batch. */
    dispatch?(limit: number, next: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary>;
    /** Around one try to publish one row. */
    publish?(row: OutboxRow, context: PublishContext, next: PublishStep): Promise<void>;
}
export type PublishStep = (row: OutboxRow, context: PublishContext) => Promise<void>;
/** The interceptors that modules contribute; the first one is the outermost. */
export declare class OutboxInterceptors extends Pool<OutboxInterceptor> {
}
type Step<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;
type Layer<Args extends unknown[], Result> = (...args: [...Args, next: Step<Args, Result>]) => Promise<Result>;
/** Wraps `innermost` in the named method of each interceptor that has it. */
export declare function intercept<Args extends unknown[], Result>(layers: ReadonlyArray<Layer<Args, Result> | undefined>, innermost: Step<Args, Result>): Step<Args, Result>;
export {};
