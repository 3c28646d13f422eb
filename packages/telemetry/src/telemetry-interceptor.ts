import { context, type Tracer, trace } from '@opentelemetry/api';
import type {
  DispatchEvents,
  DispatchSummary,
  OutboxCounter,
  OutboxEntry,
  OutboxInterceptor,
  OutboxRow,
  PublishContext,
  PublishLayer,
  PublishStep,
} from '@postcommit/core';
import { AbortWatch } from './abort-watch.js';
import type { OutboxInstruments } from './metrics.js';
import { PublishAttempt } from './publish-attempt.js';
import {
  describeIds,
  describeSummary,
  inSpan,
  type StartedSpan,
  startDispatchSpan,
  startEnqueueSpan,
  startPublishSpan,
} from './spans.js';
import type { StartupSpan } from './startup-span.js';
import {
  type ResolvedTelemetryOptions,
  resolveTelemetryOptions,
  type TelemetryOptions,
} from './telemetry-options.js';
import { TelemetrySources } from './telemetry-sources.js';
import { headersForPublisher, withTraceContext } from './trace-context.js';

/** What an application gives the interceptor besides options. `OutboxTelemetryModule` gives all of it. */
export interface TelemetryParts {
  /** Batches that run in the background of an application do not belong to its start. */
  readonly startup?: StartupSpan | undefined;
  /** Those of the dispatcher. Without them `outbox.dead` has no topic and no reason. */
  readonly events?: DispatchEvents | undefined;
  /** What other modules count. */
  readonly counters?: Iterable<OutboxCounter> | undefined;
}

/**
 * Traces and measures enqueue, dispatch and publish. It changes no outcome: every error goes on as it came. Where
 * no SDK is registered, it hands everything on untouched.
 */
export class TelemetryInterceptor implements OutboxInterceptor {
  readonly #options: ResolvedTelemetryOptions;
  readonly #sources: TelemetrySources;
  readonly #startup: StartupSpan | undefined;
  readonly #hearsOfDeaths: boolean;
  readonly #aborts = new AbortWatch();

  constructor(options: TelemetryOptions = {}, { startup, events, counters = [] }: TelemetryParts = {}) {
    this.#startup = startup;
    this.#options = resolveTelemetryOptions(options);
    const contributed = [...counters];
    this.#sources = new TelemetrySources(this.#options, contributed);
    this.#hearsOfDeaths = events !== undefined;
    events?.on('dead', ({ row, reason }) => this.#sources.instruments?.rowDied(row.topic, reason));
    for (const counter of contributed) counter.onCount(() => this.#sources.instruments?.counted(counter));
  }

  enqueue(
    entries: readonly OutboxEntry[],
    next: (entries: readonly OutboxEntry[]) => Promise<string[]>,
  ): Promise<string[]> {
    const tracer = this.#sources.tracer;
    // Without a tracer there may still be a trace that only passes through this process.
    if (!tracer) return next(withTraceContext(entries, context.active()));
    const span = startEnqueueSpan(tracer, entries, this.#options.attributes);
    return inSpan(span, () => next(withTraceContext(entries, span.context)), describeIds);
  }

  async dispatch(limit: number, next: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary> {
    const tracer = this.#sources.tracer;
    const summary = await (tracer ? this.#tracedDispatch(tracer, limit, next) : next(limit));
    const { instruments } = this.#sources;
    instruments?.batchSettled(summary);
    if (!this.#hearsOfDeaths) instruments?.rowsDied(summary.dead);
    return summary;
  }

  /** None while nobody listens: a publish is then the publisher's own. */
  get publish(): PublishLayer | undefined {
    const { tracer, instruments } = this.#sources;
    return tracer || instruments ? this.#publish : undefined;
  }

  #publish(row: OutboxRow, publishContext: PublishContext, next: PublishStep): Promise<void> {
    const { tracer, instruments } = this.#sources;
    instruments?.publishStarted(row.topic, this.#lagSeconds(row));
    const { publishParent, attributes } = this.#options;
    const span = tracer && startPublishSpan(tracer, row, publishParent, attributes);
    return this.#attempt(row, publishContext, next, span, instruments);
  }

  #tracedDispatch(
    tracer: Tracer,
    limit: number,
    next: (limit: number) => Promise<DispatchSummary>,
  ): Promise<DispatchSummary> {
    const parent = this.#startup?.isActive ? trace.deleteSpan(context.active()) : context.active();
    const span = startDispatchSpan(tracer, limit, this.#options.attributes, parent);
    return inSpan(span, () => next(limit), describeSummary);
  }

  /** `availableAt` is the database's time and now is ours: where the clocks differ, a lag is never below zero. */
  #lagSeconds({ availableAt }: OutboxRow): number {
    return Math.max(0, this.#options.clock.now() - availableAt.getTime()) / 1_000;
  }

  #attempt(
    row: OutboxRow,
    publishContext: PublishContext,
    next: PublishStep,
    started: StartedSpan | undefined,
    instruments: OutboxInstruments | undefined,
  ): Promise<void> {
    const attempt = new PublishAttempt(row.topic, started?.span, instruments, this.#options.clock);
    const publish = (): Promise<void> =>
      started
        ? context.with(started.context, next, undefined, handedOn(row, started), publishContext)
        : next(row, publishContext);
    return attempt.run(publish, publishContext.signal, this.#aborts);
  }
}

/** The row as the publisher sees it: with the publish span in its headers. The stored one stays as it is. */
function handedOn(row: OutboxRow, { context: active }: StartedSpan): OutboxRow {
  const headers = headersForPublisher(row.headers, active);
  return headers === row.headers ? row : { ...row, headers };
}
