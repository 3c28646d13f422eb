import { context, type Tracer, trace } from '@opentelemetry/api';
import type {
  DispatchEvents,
  DispatchSummary,
  OutboxEntry,
  OutboxInterceptor,
  OutboxRow,
  PublishContext,
} from '@postcommit/core';
import {
  nameToken,
  type OutboxCounter,
  type PublishLayer,
  type PublishStep,
} from '@postcommit/core/internal';
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

/** What the interceptor needs besides options. `OutboxTelemetryModule` passes all of it. */
export interface TelemetryParts {
  /** Keeps background batches out of the trace of the application's startup. */
  readonly startup?: StartupSpan | undefined;
  /** The events of the dispatcher. Without them, `outbox.dead` has no topic and no reason. */
  readonly events?: DispatchEvents | undefined;
  /** Counters that other modules contribute. */
  readonly counters?: Iterable<OutboxCounter> | undefined;
}

/**
 * Traces and measures enqueue, dispatch and publish. It changes no outcome and rethrows every error unchanged. If no SDK
 * is registered, it only propagates an existing trace context.
 *
 * @throws OutboxError `INVALID_CONFIG` from the constructor for an invalid option.
 */
export class TelemetryInterceptor implements OutboxInterceptor {
  static {
    nameToken(this, '@postcommit/telemetry/TelemetryInterceptor');
  }

  readonly #options: ResolvedTelemetryOptions;
  readonly #sources: TelemetrySources;
  readonly #startup: StartupSpan | undefined;
  readonly #hasDeadEvents: boolean;
  readonly #aborts = new AbortWatch();

  constructor(options: TelemetryOptions = {}, { startup, events, counters = [] }: TelemetryParts = {}) {
    this.#startup = startup;
    this.#options = resolveTelemetryOptions(options);
    const contributed = [...counters];
    this.#sources = new TelemetrySources(this.#options, contributed);
    this.#hasDeadEvents = events !== undefined;
    events?.on('dead', ({ row, reason }) => this.#sources.instruments?.rowDied(row.topic, reason));
    for (const counter of contributed) counter.onCount(() => this.#sources.instruments?.counted(counter));
  }

  /**
   * Starts the counters at zero: those without a topic, and those of dead rows for `topics`, as far as they are known.
   * Others start with the first publish of their topic.
   */
  startCounters(topics: Iterable<string>): void {
    const { instruments } = this.#sources;
    for (const topic of topics) instruments?.knowTopic(topic);
  }

  enqueue(
    entries: readonly OutboxEntry[],
    next: (entries: readonly OutboxEntry[]) => Promise<string[]>,
  ): Promise<string[]> {
    const tracer = this.#sources.tracer;
    // Without a tracer, a trace may still pass through this process.
    if (!tracer) return next(withTraceContext(entries, context.active()));
    const span = startEnqueueSpan(tracer, entries, this.#options.attributes);
    return inSpan(span, () => next(withTraceContext(entries, span.context)), describeIds);
  }

  async dispatch(limit: number, next: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary> {
    const tracer = this.#sources.tracer;
    const summary = await (tracer ? this.#tracedDispatch(tracer, limit, next) : next(limit));
    const { instruments } = this.#sources;
    instruments?.batchSettled(summary);
    if (!this.#hasDeadEvents) instruments?.rowsDied(summary.dead);
    return summary;
  }

  /** Undefined without an SDK, so that a publish then goes straight to the publisher. */
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

  /** Never below zero: `availableAt` is the database's time, and its clock may be ahead of ours. */
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
        ? context.with(started.context, next, undefined, withPublishSpan(row, started), publishContext)
        : next(row, publishContext);
    return attempt.run(publish, publishContext.signal, this.#aborts);
  }
}

/** The row as the publisher receives it, with the publish span in its headers. The stored row is unchanged. */
function withPublishSpan(row: OutboxRow, { context: active }: StartedSpan): OutboxRow {
  const headers = headersForPublisher(row.headers, active);
  return headers === row.headers ? row : { ...row, headers };
}
