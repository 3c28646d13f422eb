import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxEntry, OutboxRow } from '../message/outbox-row.js';
import type { PublishContext } from '../message/publish-context.js';
import { Contributions } from '../modules/contributions.js';
import { nameToken } from '../modules/token.js';

/**
 * Wraps enqueue, dispatch and publish, for tracing, metrics or application rules. Each method must call `next` once,
 * may change what it passes on, and sees the error if `next` rejects. Methods are looked up for each enqueue and each
 * batch, so an interceptor can leave one undefined while it has nothing to do.
 */
export interface OutboxInterceptor {
  /** Wraps `enqueue` and `enqueueWith`, before validation. Returns the ids in order. */
  enqueue?(
    entries: readonly OutboxEntry[],
    next: (entries: readonly OutboxEntry[]) => Promise<string[]>,
  ): Promise<string[]>;
  /** Wraps one batch. */
  dispatch?(limit: number, next: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary>;
  /** Wraps one attempt to publish one row. */
  readonly publish?: PublishLayer | undefined;
}

export type PublishStep = (row: OutboxRow, context: PublishContext) => Promise<void>;

export type PublishLayer = (row: OutboxRow, context: PublishContext, next: PublishStep) => Promise<void>;

/** The interceptors that modules contribute. The first one is the outermost. */
export class OutboxInterceptors extends Contributions<OutboxInterceptor> {
  static {
    nameToken(this, '@postcommit/core/OutboxInterceptors');
  }
}

/** Returns the current `publish` methods, outermost first. */
export function publishLayers(interceptors: readonly OutboxInterceptor[]): PublishLayer[] {
  return interceptors.flatMap((interceptor) => interceptor.publish?.bind(interceptor) ?? []);
}

type Step<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;
type Layer<Args extends unknown[], Result> = (
  ...args: [...Args, next: Step<Args, Result>]
) => Promise<Result>;

/** Wraps `innermost` in the layers, the first one outermost. Skips undefined layers. */
export function intercept<Args extends unknown[], Result>(
  layers: ReadonlyArray<Layer<Args, Result> | undefined>,
  innermost: Step<Args, Result>,
): Step<Args, Result> {
  return layers.reduceRight<Step<Args, Result>>(
    (next, layer) => (layer ? (...args) => layer(...args, next) : next),
    innermost,
  );
}
