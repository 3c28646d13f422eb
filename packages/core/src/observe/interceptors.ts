import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxEntry, OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import { Contributions } from '../modules/contributions.js';
import { nameToken } from '../modules/token.js';

/**
 * Stands around enqueue, dispatch and publish, for tracing, metrics or rules of an application. Each method
 * must call `next` once, may change what it hands on, and sees the error when `next` rejects. They are looked up for
 * each enqueue and each batch: one that has nothing to do at the moment costs nothing where it has no method.
 */
export interface OutboxInterceptor {
  /** Around `enqueue` and `enqueueWith`; runs before validation. Gives the ids in order. */
  enqueue?(
    entries: readonly OutboxEntry[],
    next: (entries: readonly OutboxEntry[]) => Promise<string[]>,
  ): Promise<string[]>;
  /** Around one batch. */
  dispatch?(limit: number, next: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary>;
  /** Around one try to publish one row. */
  readonly publish?: PublishLayer | undefined;
}

export type PublishStep = (row: OutboxRow, context: PublishContext) => Promise<void>;

export type PublishLayer = (row: OutboxRow, context: PublishContext, next: PublishStep) => Promise<void>;

/** The interceptors that modules contribute; the first one is the outermost. */
export class OutboxInterceptors extends Contributions<OutboxInterceptor> {
  static {
    nameToken(this, '@postcommit/core/OutboxInterceptors');
  }
}

/** What stands around a publish at this moment. */
export function publishLayers(interceptors: readonly OutboxInterceptor[]): PublishLayer[] {
  return interceptors.flatMap((interceptor) => interceptor.publish?.bind(interceptor) ?? []);
}

type Step<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;
type Layer<Args extends unknown[], Result> = (
  ...args: [...Args, next: Step<Args, Result>]
) => Promise<Result>;

/** Wraps `innermost` in the named method of each interceptor that has it. */
export function intercept<Args extends unknown[], Result>(
  layers: ReadonlyArray<Layer<Args, Result> | undefined>,
  innermost: Step<Args, Result>,
): Step<Args, Result> {
  return layers.reduceRight<Step<Args, Result>>(
    (next, layer) => (layer ? (...args) => layer(...args, next) : next),
    innermost,
  );
}
